#!lua flags=allow-oom
-- conclude.lua - ends workflows at the request of the workflow or of its owner.
--
-- ARGV from 2: id (owner/workflowId), 'succeeded' or 'cancelled', result, the entry that the parent workflow gets (see
-- add_prepared; '' if the workflow is cancelled: its parent then gets ifCancelled of begin.lua), ... Returns {now_us,
-- result ...}. A result is the time at which the workflow was created, ms; NOT_FOUND if no workflow with this id is
-- active; or AGAIN.
-- uses: leave probe
if (#ARGV - 1) % 4 ~= 0 then error('wrong number of arguments') end
for i = 2, #ARGV, 4 do
  if not string.match(ARGV[i], '^[^/~]+/[^/]+$') then error('not an id') end
  if ARGV[i + 1] ~= 'succeeded' and ARGV[i + 1] ~= 'cancelled' then error('not an end') end
end
probe()

local function conclude(id, state, result, prepared)
  if has_read_enough() then return RESULT_AGAIN end
  local place = active_place(id)
  if not place then return RESULT_NOT_FOUND end
  if state == 'cancelled' then prepared = call('HGET', workflow_of(place), 'ifCancelled') end
  end_workflow(place, state, prepared, {'result', result})
  return tonumber(call('HGET', workflow_of(place), 'createdAt'))
end

local replies = {now_us}
for i = 2, #ARGV, 4 do replies[#replies + 1] = conclude(unpack(ARGV, i, i + 3)) end
date_dead_topics()
finish()
return replies
