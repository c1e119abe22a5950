-- await.lua - notes that requests wait for the end of jobs, or for their next change (lib/waited.lua).
--
-- ARGV from 2: id, how long messages are needed, ms, 1: the caller is about to schedule this job; else 0, ...
-- Returns {now_us, result ...}. A result is 1 if the job has not ended, else 0. Then nothing is noted, unless the job is
-- about to be scheduled.

script('await', {'allow-oom'}, {Waited}, function()
  check(2, 3, 2)
  local replies = {now_us}
  for i = 2, #ARGV, 3 do
    local is_there = call('HEXISTS', JOBS, ARGV[i])
    if is_there == 1 or ARGV[i + 2] == '1' then Waited.note(ARGV[i], clock.lease_now + tonumber(ARGV[i + 1])) end
    replies[#replies + 1] = is_there
  end
  return replies
end)
