-- existing.lua - the answer to a new job whose id a job of the pool already has.
-- uses: clock locate record

-- Returns {state, due, record}, or AGAIN. scheduled: the due time, if this call has scheduled the job and has not put
-- it into its bucket yet. A job without a place counts as ready, because the janitor will make it ready.
-- rare: existing
local function existing(id, scheduled)
  local record = answer_record(id)
  if not record then return RESULT_AGAIN end
  local state, score = locate(id)
  score = tonumber(score) or scheduled or now
  return {state or (score > now and 'delayed' or 'ready'), score, record}
end
