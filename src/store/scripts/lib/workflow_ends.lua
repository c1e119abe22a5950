-- workflow_ends.lua - removes jobs from their workflows, and ends workflows. The place of a workflow is its id with the
-- time of its creation, see workflows.lua.

local WorkflowEnds = {uses = {Attempts, ClockSteps, Ended, Events, Leases, Lingering, Places, Records, Workflows}}

local KEPT_MAX, KEPT_MS = 10000, 604800000

-- Removes a job from its workflow. Returns the job's role and the workflow's place, or nothing if the job belonged to
-- no workflow.
local function leave(id)
  local role, _, _, place = Workflows.membership(id)
  if not role then return end
  call('HDEL', WORKFLOW_JOBS, id)
  call('HDEL', Workflows.open_key(place), id)
  if role == 'w' then Events.forget_wait(id, place) end
  return role, place
end

function WorkflowEnds.leave_all(ids)
  for i = 1, #ids do leave(ids[i]) end
end

-- Takes a job out of the list of jobs that Places.write will put into buckets; this call has scheduled the job.
function WorkflowEnds.unput(id)
  local list = Places.new[topic_of(id)]
  for i = list and #list or 0, 2, -2 do
    if list[i] == id then
      table.remove(list, i)
      table.remove(list, i - 1)
    end
  end
  if list and #list == 0 then Places.new[topic_of(id)] = nil end
end

-- Jobs that this call has removed together with their workflow -> 'leased' if an attempt was running, else true. If a
-- later item of the call ends such a job, this item is stale.
WorkflowEnds.dropped = {}

-- Keeps the data of a job that is removed together with its workflow. If the data of these jobs exceeds a limit for one
-- call, the data of further jobs is not kept; if a history is on, such jobs are counted as dropped.
local DROPPED_BYTES_MAX = 4194304
local dropped_bytes_left
local function keep_dropped(id, state)
  if dropped_bytes_left <= 0 then
    if has_history() then call('HINCRBY', NUMBERS, 'outbox_dropped', 1) end
    return
  end
  local before = Records.bytes_left
  Ended.keep_job(id, state)
  dropped_bytes_left = dropped_bytes_left - (before - Records.bytes_left)
end

-- Removes a job of a workflow that has ended. If an attempt of the job is running, it continues. If the workflow has
-- succeeded, its leased step is kept as delivered: the workflow's endpoint reported the success during the attempt of
-- this step.
function WorkflowEnds.drop_member(id, how)
  WorkflowEnds.dropped[id] = true
  local role = leave(id)
  local is_last = how == 'succeeded' and role ~= 'c' and Leases.deadline(id)
  if Ended.may_keep() then keep_dropped(id, is_last and 'delivered' or 'cancelled') end
  if call('HDEL', JOBS, id) == 0 then return end
  Attempts.forget_losses(id)
  Attempts.forget({id})
  WorkflowEnds.unput(id)
  WorkflowEnds.dropped[id] = Lingering.take_cancelled(id) == 'leased' and 'leased' or true
end

-- Removes the jobs of a workflow. Each job counts as DROPPED_WEIGHT bytes against the bytes that the call may read.
-- So one call ends a limited number of workflows. Returns the ids of these jobs.
local DROPPED_WEIGHT = 4096
function WorkflowEnds.drop_members(place, how)
  local jobs = call('HKEYS', Workflows.open_key(place))
  Records.bytes_left = Records.bytes_left - DROPPED_WEIGHT * #jobs
  for i = 1, #jobs do WorkflowEnds.drop_member(jobs[i], how) end
  return jobs
end

local function remove_workflow(place)
  local id, created = string.match(place, '^(.*)/(%d+)$')
  if call('HGET', WORKFLOWS, id) == created then call('HDEL', WORKFLOWS, id) end
  call('UNLINK', Workflows.key(place), Workflows.elements_key(place), Workflows.element_jobs_key(place), Workflows.steps_key(place))
  call('ZREM', WORKFLOW_TIMES, place)
  call('ZREM', WORKFLOWS_OVER, place)
end

-- Removes a few of the workflows that have ended: those that ended more than KEPT_MS ago, and the oldest ones while
-- there are more than KEPT_MAX.
function WorkflowEnds.forget_old()
  for _ = 1, 4 do
    local oldest = call('ZRANGE', WORKFLOWS_OVER, '0', '0', 'WITHSCORES')
    if not oldest[1] then return end
    local is_old = tonumber(oldest[2]) <= now - KEPT_MS and not ClockSteps.removals_rest()
    if not is_old and call('ZCARD', WORKFLOWS_OVER) <= KEPT_MAX then return end
    remove_workflow(oldest[1])
  end
end

-- Appends an element and its job to the parent of a workflow that has ended. The child workflow has stored both
-- earlier, for each way in which it can end, as the text prepared: '<size of id> <size of record> ', id, record,
-- element. place: place of the parent; step: name of its step that waits for the child.
local function add_prepared(place, step, prepared)
  if not place or not prepared or prepared == '' or not Workflows.is_active(place) then return end
  local id, record, start = string.match(prepared, '^(%d+) (%d+) ()')
  local middle, last = start + tonumber(id), start + tonumber(id) + tonumber(record)
  id, record = string.sub(prepared, start, middle - 1), string.sub(prepared, middle, last - 1)
  if call('HEXISTS', JOBS, id) == 0 then Workflows.add_member(place, 's', id, '0', record, string.sub(prepared, last), Workflows.after_step(place, step)) end
end

-- Ends a workflow: removes its jobs, waits and events, and appends prepared to its parent, see add_prepared. more:
-- further fields to write to the workflow's hash. Returns the ids of the removed jobs.
function WorkflowEnds.finish(place, state, prepared, more)
  local jobs = WorkflowEnds.drop_members(place, state)
  Events.forget_all(place)
  call('UNLINK', Workflows.open_key(place), Workflows.steps_key(place))
  call('HSET', Workflows.key(place), 'state', state, 'endedAt', integer(now), unpack(more))
  call('ZADD', WORKFLOWS_OVER, integer(now), place)
  -- Only active workflows have events. So if no workflow is active, the size of all events is 0, even if processes of
  -- a version before 0.3, which does not store this size, have ended workflows.
  if call('ZCARD', WORKFLOWS_OVER) >= call('ZCARD', WORKFLOW_TIMES) then call('HDEL', NUMBERS, 'event_bytes') end
  local parent, step = unpack(call('HMGET', Workflows.key(place), 'parent', 'parentStep'))
  add_prepared(parent, step or '', prepared)
  WorkflowEnds.forget_old()
  return jobs
end

-- Called when a job has died. If the job belongs to a workflow, the workflow fails, unless the job was a call
-- (workflows.lua).
function WorkflowEnds.fail(id)
  local role, place = leave(id)
  if not role or role == 'c' then return end
  WorkflowEnds.finish(place, 'failed', call('HGET', Workflows.key(place), 'ifFailed'), {'failedBy', id})
end

-- Called when a job was cancelled. If the job belongs to a workflow, the workflow is cancelled, too, because it cannot
-- continue without this job. Returns the ids of the workflow's other jobs, or nothing.
function WorkflowEnds.cancel(id)
  local role, place = leave(id)
  if not role then return end
  return WorkflowEnds.finish(place, 'cancelled', call('HGET', Workflows.key(place), 'ifCancelled'), {})
end

function WorkflowEnds.begin()
  if next(WorkflowEnds.dropped) then WorkflowEnds.dropped = {} end
  dropped_bytes_left = DROPPED_BYTES_MAX
end

return WorkflowEnds
