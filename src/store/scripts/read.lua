#!lua flags=no-writes
-- read.lua - jobs as they are.
--
-- ARGV from 2: id, ...
-- Returns {now_us, result ...}: {} no such job, or {state, due or death or deadline, record, lost consumers}.
local replies = {now_us}
for i = 2, #ARGV do
  local id = ARGV[i]
  local record = call('HGET', JOBS, id)
  if not record then
    replies[i] = {}
  else
    local state, score = locate(id)
    local crash = call('HGET', CRASHES, id)
    replies[i] = {
      state or 'ready', -- nowhere: the janitor will make it ready
      tonumber(score) or now, record, tonumber(crash and string.match(crash, '^%d+')) or 0,
    }
  end
end
return replies
