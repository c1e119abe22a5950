-- cancels.lua - removes one job because its owner requests it.

local Cancels = {uses = {Attempts, Ended, Lingering, Outbox, Records, Stream, Tags, WorkflowEnds}}

function Cancels.cancel_dead(id)
  local is_kept = retention_of(topic_of(id))
  if is_kept or has_history() then
    local _, _, losses, record, lines = Ended.read(id)
    if is_kept then
      Ended.keep(id, 'cancelled', now, losses, record, lines)
      return 0
    end
    if record then Outbox.add(id, 'cancelled', now, losses, record, lines) end
  end
  Ended.drop(id)
  return 0
end

local counted = {} -- jobs that were removed with their workflow, and that an item of this call has named

-- Removes a job. Returns 1 if an attempt was running, 0 if no attempt was running, or NOT_FOUND, AGAIN or NOT_AS_SEEN
-- (results.list). tags: the job is removed only if it matches them, see Tags.find. If the job's workflow was cancelled,
-- too, also returns the ids of the other jobs of the workflow.
function Cancels.cancel(id, tags)
  if WorkflowEnds.dropped[id] and call('HEXISTS', JOBS, id) == 0 and not call('ZSCORE', DEAD, id) then
    -- An earlier item of this call has cancelled the workflow of the job, and so the job. The first item that names
    -- the job gets the result of that; any later one gets NOT_FOUND.
    if counted[id] then return RESULT.NOT_FOUND end
    counted[id] = true
    return WorkflowEnds.dropped[id] == 'leased' and 1 or 0
  end
  if Records.has_read_enough() then return RESULT.AGAIN end
  local seen = Tags.find(id, tags)
  if seen == nil then return RESULT.AGAIN end
  if seen == 'dead' then return Cancels.cancel_dead(id) end
  if not seen then return (call('HEXISTS', JOBS, id) == 1 or call('ZSCORE', DEAD, id)) and RESULT.NOT_AS_SEEN or RESULT.NOT_FOUND end
  if Ended.may_keep() then Ended.keep_job(id, 'cancelled') end
  if call('HDEL', JOBS, id) == 0 then return RESULT.NOT_FOUND end
  Stream.add(topic_of(id), id, 'cancelled')
  Attempts.forget_losses(id)
  Attempts.forget({id})
  local was, others = Lingering.take_cancelled(id), nil
  if has(WORKFLOW_JOBS) then others = WorkflowEnds.cancel(id) end
  return was == 'leased' and 1 or 0, others
end

function Cancels.begin()
  if next(counted) then counted = {} end
end

return Cancels
