#!lua flags=allow-oom
-- arrive.lua - what jobs of workflows are delivered with, asked before each attempt. A wait that is due appends its element here, so
-- its deadline and its event cannot both count. Calling it again changes nothing.
--
-- ARGV from 2: id ...
-- Returns {now_us, result ...}. A result is {'own', created, elements}: the body of the job, and the first element; {'list', created,
-- elements}: those up to its own; {'long', created, elements}: these are too long for one delivery, and only the first is here; {'over'}: its
-- workflow has ended. Each element has its kind in front. created is when the workflow was made, ms.
-- uses: check clock waits workflows
check(2, 1)
local LIST_MAX = 1048576

-- The deadline of a wait has come.
local function end_wait(id, place)
  local _, _, element = wait_of(id)
  forget_wait(id, place)
  local position, bytes = add_element(place, 's', element, id)
  note_membership(id, 's', position, bytes, place)
  return position, bytes
end

local function arrive(id)
  local role, position, bytes, place = membership_of(id)
  if not role then return {'over'} end
  local created = tonumber(string.match(place, '%d+$'))
  if role == 'w' then position, bytes = end_wait(id, place) end
  if role == 'c' or role == 'a' then return {'own', created, call('LRANGE', elements_of(place), '0', '0')} end
  if tonumber(bytes) > LIST_MAX then return {'long', created, call('LRANGE', elements_of(place), '0', '0')} end
  return {'list', created, call('LRANGE', elements_of(place), '0', position - 1)}
end

local replies = {now_us}
for i = 2, #ARGV do replies[i] = arrive(ARGV[i]) end
return replies
