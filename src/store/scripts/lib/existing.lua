-- existing.lua - the answer to a new job whose id a job of the pool already has.
-- uses: clock locate record

-- Returns {state, due, record} of the existing job, or AGAIN. scheduled: the due time, if an earlier item of this call
-- has scheduled that job and its id is not in the bucket yet. A job whose id is in no place counts as ready, because
-- the janitor will make it ready.
-- rare: existing
local function existing(id, scheduled)
  local record = answer_record(id)
  if not record then return RESULT_AGAIN end
  local state, score = locate(id)
  score = tonumber(score) or scheduled or now
  return {state or (score > now and 'delayed' or 'ready'), score, record}
end
