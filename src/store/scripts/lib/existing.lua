-- existing.lua - the answer to a request for a new job if a job that has not ended already has the same id.
-- uses: clock locate record

-- Returns {state, due, record} of the existing job, or AGAIN (results.list). scheduled: the due time of the existing
-- job, if an earlier item of this call has scheduled it and its id is not among the waiting jobs yet. If data was lost
-- and the id is in neither the leases nor the waiting jobs, the job counts as ready, because the janitor will make it
-- ready.
-- rare: existing
local function existing(id, scheduled)
  local record = answer_record(id)
  if not record then return RESULT_AGAIN end
  local state, score = locate(id)
  score = tonumber(score) or scheduled or now
  return {state or (score > now and 'delayed' or 'ready'), score, record}
end
