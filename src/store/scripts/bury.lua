#!lua flags=allow-oom
-- bury.lua - jobs that are given up: dead, kept, readable.
--
-- ARGV from 2: id, nonce, record, the attempt's line or '', ...     Returns {now_us, 1 done or 0 stale, ...}.
-- uses: attempts bury check fence linger take
check(2, 4)
local verdicts = fence(2, 4)
local replies = {now_us}
for i = 2, #ARGV, 4 do
  local number, id = (i + 2) / 4, ARGV[i]
  replies[number + 1] = verdicts[number] and 1 or 0
  if verdicts[number] then
    take(id)
    forget_crashes(id)
    note_attempt(id, ARGV[i + 3])
    call('HSET', JOBS, id, ARGV[i + 2])
    bury(id, ARGV[i + 2])
  else
    end_lingering(id, ARGV[i + 1])
  end
end
write_counts()
finish()
return replies
