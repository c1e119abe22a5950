-- arrive.lua - reads the elements (results of steps) of workflows that the next requests to their endpoints will
-- contain. Called before each attempt of a workflow's job. If the job is a wait for an event (lib/events.lua), the
-- script ends the wait and appends the wait's element for the deadline. So each wait ends once, by its deadline or by
-- its event. A second call for the same job changes nothing.
--
-- ARGV from 2: id ...
-- Returns {now_us, result ...}. A result is {'own', created, elements}: the job is delivered with its own body, and
-- elements has the first element; {'list', created, elements}: elements has all elements up to the job's own;
-- {'long', created, elements}: these elements are too long for one delivery, so elements has the first one only;
-- {'done'}: the workflow has the step that this delivery would make, so nothing is sent; {'over'}: the job's workflow has
-- ended; {'unreadable'}: the job is a wait whose entry cannot be read, and nothing has
-- changed. Each element begins with its kind. created is the time at which the
-- workflow was created, ms.

local LIST_MAX = 1048576

-- Ends a wait whose deadline has come. Returns position and bytes of its element, see lib/workflows.lua. Returns
-- nothing if the wait's entry cannot be read.
local function end_wait(id, place)
  local _, _, element = Events.wait(id)
  if not element then return end
  Events.forget_wait(id, place)
  local position, bytes = Workflows.add_element(place, 's', element, id)
  Workflows.note_membership(id, 's', position, bytes, place)
  return position, bytes
end

local function arrive(id)
  local role, position, bytes, place = Workflows.membership(id)
  if not role then return {'over'} end
  local created = tonumber(string.match(place, '%d+$'))
  if role == 's' and Workflows.is_done(place, id) then return {'done'} end
  if role == 'w' then position, bytes = end_wait(id, place) end
  if not position then return {'unreadable'} end
  if role == 'c' or role == 'a' then return {'own', created, call('LRANGE', Workflows.elements_key(place), '0', '0')} end
  if tonumber(bytes) > LIST_MAX then return {'long', created, call('LRANGE', Workflows.elements_key(place), '0', '0')} end
  return {'list', created, call('LRANGE', Workflows.elements_key(place), '0', position - 1)}
end

script('arrive', {'allow-oom'}, {Events, Workflows}, function()
  check(2, 1)
  local replies = {now_us}
  for i = 2, #ARGV do replies[i] = arrive(ARGV[i]) end
  return replies
end)
