-- wait.lua - makes a workflow wait for an event, or gives it an event that was kept for it. The flag allow-oom is not
-- set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit
-- ARGV[3]  id: owner/workflowId   [4] event   [5] a text of the caller
-- ARGV[6]  job, when, record, element: delivered at the deadline, see begin.lua
-- ARGV[10] data of the first kept event as the caller has read it, or '' [11] job, record, element: delivered at once
--      if there is such an event
-- ARGV[14] name of the step (lib/workflows.lua), or ''. If the workflow has this step, nothing changes, and the result is 1
-- Returns {now_us, 1}: the workflow waits; {now_us, 2}: it has taken the event; {now_us, {data}} if the first
-- kept event is another one, and nothing has changed; NOT_FOUND, TAKEN or FULL.

local id, event, step

local function wait()
  local place, max_jobs = Workflows.active_place(id), tonumber(ARGV[2])
  if not place then return RESULT.NOT_FOUND end
  if Workflows.job_of_step(place, step) then return 1 end
  if max_jobs > 0 and Expiries.jobs_below(max_jobs) >= max_jobs or call('HLEN', Workflows.open_key(place)) >= Workflows.OPEN_MAX then return RESULT.FULL end
  if call('LLEN', Workflows.elements_key(place)) >= Workflows.ELEMENTS_MAX then return RESULT.FULL end
  local kept = call('LRANGE', Events.key(place, event), '0', '0')[1]
  if kept and kept ~= ARGV[10] then return {kept} end
  local job = kept and ARGV[11] or ARGV[6]
  if call('HEXISTS', JOBS, job) == 1 then return RESULT.TAKEN end
  if kept then
    Events.take(place, event)
    Workflows.add_member(place, 's', job, '0', ARGV[12], ARGV[13], Workflows.note_step(place, step, job))
    return 2
  end
  if Events.is_hook(event) then Events.note_hook(place, event) end
  Workflows.add_member(place, 'w', job, ARGV[7], ARGV[8], '', Workflows.note_step(place, step, job))
  call('HSET', WAITS, job, table.concat({#event, ' ', #ARGV[5], ' ', event, ARGV[5], ARGV[9]}))
  call('ZADD', Events.waiters_key(Events.owner_of_place(place), event), integer(now), job)
  call('ZADD', Events.waiters_key(place, event), integer(now), job)
  return 1
end

script('wait', {}, {Events, Expiries, Places, Workflows}, function()
  id, event, step = ARGV[3], ARGV[4], ARGV[14]
  if #ARGV ~= 14 then error('wrong number of arguments') end
  if not string.match(id, '^[^/~]+/[^/]+$') then error('not an id') end
  for _, job in ipairs({ARGV[6], ARGV[11]}) do
    if not string.match(job, '^[^/]+/.') or owner_of(topic_of(job)) ~= topic_of(id) then error('not a job') end
  end
  if not string.match(ARGV[7], '^@?%d+$') then error('not a number') end
  if not Workflows.is_step(step) then error('not a step') end
  probe()
  local reply = {now_us, wait()}
  Places.finish()
  return reply
end)
