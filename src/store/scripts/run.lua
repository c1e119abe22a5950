#!lua flags=allow-oom
-- run.lua - a job becomes due now. A dead one starts over: its record is swapped for one without attempts,
-- unless it has changed since the caller read it.
--
-- ARGV from 2: id, the record that was read, the record to write, ...
-- Returns {now_us, result ...}: the due time, -1 no such job, -2 leased, -3 dead and changed.
check(2, 3)
local replies = {now_us}
for i = 2, #ARGV, 3 do
  local id = ARGV[i]
  local record = call('HGET', JOBS, id)
  local state, score = locate(id)
  local result
  if not record then
    result = -1
  elseif state == 'leased' then
    result = -2
  elseif state == 'dead' and record ~= ARGV[i + 1] then
    result = -3
  elseif state == 'ready' then
    result = tonumber(score)
    forget_crashes(id)
  else
    take(id)
    forget_crashes(id)
    if state == 'dead' then call('HSET', JOBS, id, ARGV[i + 2]) end
    put(id, now)
    result = now
  end
  replies[#replies + 1] = result
end
finish()
return replies
