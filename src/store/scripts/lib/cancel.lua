-- cancel.lua - removes one job because its owner requests it.
-- uses: attempts crashes has keep leave linger outbox seen

local function cancel_dead(id)
  local is_kept = retention_of(topic_of(id))
  if is_kept or has_history() then
    local _, _, losses, record, lines = kept_job(id)
    if is_kept then
      keep(id, 'cancelled', now, losses, record, lines)
      return 0
    end
    if record then archive(id, 'cancelled', now, losses, record, lines) end
  end
  drop_kept(id)
  return 0
end

local counted = {} -- jobs that were removed with their workflow, and that an item of this call has named

-- Removes a job. Returns 1 if an attempt was running, 0 if no attempt was running, or NOT_FOUND, AGAIN or NOT_AS_SEEN
-- (results.list). tags: the job is removed only if it matches them, see find_seen. If the job's workflow was cancelled,
-- too, also returns the ids of the other jobs of the workflow.
local function cancel(id, tags)
  if dropped[id] and call('HEXISTS', JOBS, id) == 0 and not call('ZSCORE', DEAD, id) then
    -- An earlier item of this call has cancelled the workflow of the job, and so the job. The first item that names
    -- the job gets the result of that; any later one gets NOT_FOUND.
    if counted[id] then return RESULT_NOT_FOUND end
    counted[id] = true
    return dropped[id] == 'leased' and 1 or 0
  end
  if has_read_enough() then return RESULT_AGAIN end
  local seen = find_seen(id, tags)
  if seen == nil then return RESULT_AGAIN end
  if seen == 'dead' then return cancel_dead(id) end
  if not seen then return (call('HEXISTS', JOBS, id) == 1 or call('ZSCORE', DEAD, id)) and RESULT_NOT_AS_SEEN or RESULT_NOT_FOUND end
  if has_history() or has_settings() then keep_job(id, 'cancelled') end
  if call('HDEL', JOBS, id) == 0 then return RESULT_NOT_FOUND end
  forget_crashes(id)
  forget_attempts({id})
  local was, others = take_cancelled(id), nil
  if has(WORKFLOW_JOBS) then others = cancel_workflow_of(id) end
  return was == 'leased' and 1 or 0, others
end
