-- begin.lua - begins workflows. The flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit
-- then for each workflow:
--   id           owner/workflowId
--   settings     a text of the caller
--   parent       place (lib/workflows.lua) of the parent workflow, which gets an element at the end, or ''
--   ifFailed     entry that the parent gets if this workflow fails, see add_prepared, or ''
--   ifCancelled  entry that the parent gets if this workflow is cancelled, or ''
--   replaces     1: an active workflow with this id starts again, in its place; 0: it stays
--   from         place of a failed workflow that this one continues, or ''. A failed workflow can be continued only
--                once, because its dead job is removed
--   kept, bytes  number of elements that the new workflow copies from the failed one, beginning with the first; the
--                size of these elements, including their kinds
--   role, job, when, record, element: its first job; when and record as in schedule.lua
--   step, parentStep  names (lib/workflows.lua) of the first job's step, and of the parent's step that waits for the
--                workflow, or ''. A step of the parent starts one workflow
-- Returns {now_us, result ...}. A result is {1, time of creation}; {0, time of creation, first job} if a
-- workflow with this id is active, or the parent's step has started another workflow; NOT_FOUND if the failed workflow cannot be continued; TAKEN if a job has
-- the id of its first job; FULL; AGAIN; that of Quotas.refusal, but not for a workflow that has a parent or starts again.

local SIZE = 16
local room

-- Returns the time of creation for a new workflow, which is later than that of any earlier workflow with this id.
local function time_of(id)
  local last = tonumber(call('HGET', WORKFLOWS, id) or 0)
  return integer(math.max(now, last + 1))
end

-- Returns the dead job that made a workflow fail. Returns nothing if the workflow did not fail, its dead job was
-- removed, or the workflow has fewer than kept elements.
local function dead_job_of(place, kept)
  local state, dead_job = unpack(call('HMGET', Workflows.key(place), 'state', 'failedBy'))
  if state ~= 'failed' or not dead_job or not call('ZSCORE', DEAD, dead_job) then return end
  if call('LLEN', Workflows.elements_key(place)) >= tonumber(kept) then return dead_job end
end

local function take_elements(from, kept, bytes, place)
  if kept == '0' then return end
  Events.copy_hooks(from, place)
  for _, list_of in ipairs({Workflows.elements_key, Workflows.element_jobs_key}) do
    call('COPY', list_of(from), list_of(place))
    call('LTRIM', list_of(place), '0', tonumber(kept) - 1)
  end
  call('HSET', Workflows.key(place), 'bytes', bytes)
end

local function begin(at)
  if Records.has_read_enough() then return RESULT.AGAIN end
  local id, settings, parent, if_failed, if_cancelled, replaces, from, kept, bytes = unpack(ARGV, at, at + 8)
  local place = Workflows.active_place(id)
  if place and replaces ~= '1' then
    return {0, tonumber(call('HGET', Workflows.key(place), 'createdAt')), call('HGET', Workflows.key(place), 'first')}
  end
  local step, parent_step = ARGV[at + 14], ARGV[at + 15]
  local started = parent ~= '' and Workflows.job_of_step(parent, parent_step)
  if started then return {0, tonumber(call('HGET', Workflows.key(parent), 'createdAt')), started} end
  local dead_job = from ~= '' and dead_job_of(from, kept)
  if from ~= '' and not dead_job then return RESULT.NOT_FOUND end
  if room < 1 then return RESULT.FULL end
  if call('HEXISTS', JOBS, ARGV[at + 10]) == 1 then return RESULT.TAKEN end
  local refused = parent == '' and not place and Quotas.refusal(topic_of(ARGV[at + 10]), 1)
  if refused then return refused end
  room = room - 1
  Quotas.take(topic_of(ARGV[at + 10]), 1)
  local previous = place and call('HGET', Workflows.key(place), 'previous') or not place and call('HGET', WORKFLOWS, id)
  local created = place and call('HGET', Workflows.key(place), 'createdAt') or time_of(id)
  if place then
    WorkflowEnds.drop_members(place)
    call('DEL', Workflows.elements_key(place), Workflows.element_jobs_key(place), Workflows.steps_key(place), Workflows.key(place))
  end
  place = id .. '/' .. created
  call('HSET', WORKFLOWS, id, created)
  call('ZADD', WORKFLOW_TIMES, created, place)
  call('HSET', Workflows.key(place), 'state', 'active', 'createdAt', created, 'settings', settings, 'first', ARGV[at + 10])
  if previous then call('HSET', Workflows.key(place), 'previous', previous) end
  if parent ~= '' then call('HSET', Workflows.key(place), 'parent', parent, 'ifFailed', if_failed, 'ifCancelled', if_cancelled) end
  if parent_step ~= '' and Workflows.is_active(parent) then
    call('HSET', Workflows.key(place), 'parentStep', parent_step)
    Workflows.note_step(parent, parent_step, ARGV[at + 10])
  end
  if dead_job then
    take_elements(from, kept, bytes, place)
    Cancels.cancel_dead(dead_job)
  end
  local role, job, when, record, element = unpack(ARGV, at + 9, at + 13)
  Workflows.add_member(place, role, job, when, record, element, Workflows.note_step(place, step, job))
  WorkflowEnds.forget_old()
  return {1, tonumber(created)}
end

script('begin', {}, {Cancels, Ended, Events, Expiries, Places, Quotas, Records, WorkflowEnds, Workflows}, function()
  local topics = {}
  for i = 3, #ARGV, SIZE do
    if not string.match(ARGV[i], '^[^/~]+/[^/]+$') then error('not an id') end
    local from = ARGV[i + 6]
    if from ~= '' and (not string.match(from, '^[^/~]+/[^/]+/%d+$') or topic_of(from) ~= topic_of(ARGV[i])) then error('not a place') end
    if not string.match(ARGV[i + 7], '^%d+$') or not string.match(ARGV[i + 8], '^%d+$') then error('not a number') end
    topics[#topics + 1] = topic_of(ARGV[i + 10] or '')
    if not string.match(ARGV[i + 9], '^[sca]$') or not string.match(ARGV[i + 10], '^[^/]+/.') then error('not a job') end
    if owner_of(topic_of(ARGV[i + 10])) ~= topic_of(ARGV[i]) then error('another owner') end
    if not string.match(ARGV[i + 11], '^@?%d+$') then error('not a number') end
    if not ARGV[i + SIZE - 1] then error('wrong number of arguments') end
    if not Workflows.is_step(ARGV[i + 14]) or not Workflows.is_step(ARGV[i + 15]) then error('not a step') end
  end
  probe()
  Quotas.look(topics)
  local max_jobs = tonumber(ARGV[2])
  room = max_jobs > 0 and max_jobs - Expiries.jobs_below(max_jobs) or math.huge
  local replies = {now_us}
  for i = 3, #ARGV, SIZE do replies[#replies + 1] = begin(i) end
  Ended.finish()
  Places.finish()
  return replies
end)
