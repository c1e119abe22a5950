-- notify.lua - gives an event to the workflows that wait for it, or keeps it for a workflow that does not wait for it
-- yet. The flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2] owner   [3] event   [4] owner/workflowId if the event is for one workflow only, or ''   [5] data of the
--      event, which is kept for this workflow
-- ARGV from 6, for each wait: id of the job that waits; job, record, element of the job that is delivered instead
-- Returns {now_us, {kept, result ...}}. A result is 1 if the job got the event, or 0 if the job no longer waits. kept
-- is 1 if the event was kept; NOT_FOUND if no such workflow is active; FULL if too many events are kept for the
-- workflow, or for all; AGAIN, and nothing has changed, if the workflow waits with a job that the call does not name; else 0.

local function notify(waiter, job, record, element)
  local role, _, _, place = Workflows.membership(waiter)
  if role ~= 'w' or call('HEXISTS', JOBS, job) == 1 then return 0 end
  local mark = call('HGET', Workflows.open_key(place), waiter)
  WorkflowEnds.drop_member(waiter)
  Workflows.add_member(place, 's', job, '0', record, element, mark)
  return 1
end

-- Keeps the event for the workflow in ARGV[4]. Called if no waiting job has got the event.
local function keep_event(event, data)
  local place = Workflows.active_place(ARGV[4])
  if not place then return RESULT.NOT_FOUND end
  if call('ZCARD', Events.waiters_key(place, event)) > 0 then return RESULT.AGAIN end
  return Events.put(place, event, data) and 1 or RESULT.FULL
end

script('notify', {}, {Ended, Events, Places, WorkflowEnds, Workflows}, function()
  if (#ARGV - 5) % 4 ~= 0 then error('wrong number of arguments') end
  for i = 6, #ARGV, 4 do
    if not string.match(ARGV[i], '^[^/]+/.') or not string.match(ARGV[i + 1], '^[^/]+/.') then error('not a job') end
    if owner_of(topic_of(ARGV[i])) ~= ARGV[2] or owner_of(topic_of(ARGV[i + 1])) ~= ARGV[2] then error('another owner') end
  end
  probe()
  local results, taken = {0}, 0
  for i = 6, #ARGV, 4 do
    local result = notify(unpack(ARGV, i, i + 3))
    results[#results + 1] = result
    taken = taken + result
  end
  if taken == 0 and ARGV[4] ~= '' then results[1] = keep_event(ARGV[3], ARGV[5]) end
  Ended.finish()
  Places.finish()
  return {now_us, results}
end)
