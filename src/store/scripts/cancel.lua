#!lua flags=allow-oom
-- cancel.lua - jobs leave the pool because their owner says so.
--
-- ARGV from 2: id, ...     Returns {now_us, result ...}: 1 an attempt was running, 0 none, -1 no such job.
check(2, 1)
local replies = {now_us}
for i = 2, #ARGV do
  local id = ARGV[i]
  if call('HDEL', JOBS, id) == 0 then
    replies[i] = -1
  else
    replies[i] = take(id) == 'leased' and 1 or 0
    forget_crashes(id)
  end
end
finish()
return replies
