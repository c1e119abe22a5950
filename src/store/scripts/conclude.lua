-- conclude.lua - ends workflows at the request of the workflow or of its owner.
--
-- ARGV from 2: id (owner/workflowId), 'succeeded' or 'cancelled', result, the entry that the parent workflow gets (see
-- add_prepared; '' if the workflow is cancelled: its parent then gets ifCancelled of begin.lua), ... Returns {now_us,
-- result ...}. A result is the time at which the workflow was created, ms; NOT_FOUND if no workflow with this id is
-- active; or AGAIN.

local function conclude(id, state, result, prepared)
  if Records.has_read_enough() then return RESULT.AGAIN end
  local place = Workflows.active_place(id)
  if not place then return RESULT.NOT_FOUND end
  if state == 'cancelled' then prepared = call('HGET', Workflows.key(place), 'ifCancelled') end
  WorkflowEnds.finish(place, state, prepared, {'result', result})
  return tonumber(call('HGET', Workflows.key(place), 'createdAt'))
end

script('conclude', {'allow-oom'}, {Ended, Places, Records, WorkflowEnds, Workflows}, function()
  if (#ARGV - 1) % 4 ~= 0 then error('wrong number of arguments') end
  for i = 2, #ARGV, 4 do
    if not string.match(ARGV[i], '^[^/~]+/[^/]+$') then error('not an id') end
    if ARGV[i + 1] ~= 'succeeded' and ARGV[i + 1] ~= 'cancelled' then error('not an end') end
  end
  probe()
  local replies = {now_us}
  for i = 2, #ARGV, 4 do replies[#replies + 1] = conclude(unpack(ARGV, i, i + 3)) end
  Ended.finish()
  Places.finish()
  return replies
end)
