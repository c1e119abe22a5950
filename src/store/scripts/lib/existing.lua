-- existing.lua - the answer for a new job if a job of the pool already has its id.
-- uses: clock locate record

-- Returns {state, due, record}, or AGAIN. scheduled is the due time of a job that this call has scheduled,
-- and that is in no bucket yet. A job without a place counts as ready, because the janitor will make it
-- ready.
-- rare: existing
local function existing(id, scheduled)
  local record = answer_record(id)
  if not record then return RESULT_AGAIN end
  local state, score = locate(id)
  score = tonumber(score) or scheduled or now
  return {state or (score > now and 'delayed' or 'ready'), score, record}
end
