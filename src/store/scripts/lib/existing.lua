-- existing.lua - the answer for a new job whose id a job of the pool has.
-- uses: clock locate record

-- Returns {state, due, record}, or AGAIN. scheduled: the due time of a job of this very batch, which is in no bucket yet. One that
-- is nowhere, the janitor will make ready.
-- rare: existing
local function existing(id, scheduled)
  local record = answer_record(id)
  if not record then return RESULT_AGAIN end
  local state, score = locate(id)
  score = tonumber(score) or scheduled or now
  return {state or (score > now and 'delayed' or 'ready'), score, record}
end
