#!lua flags=allow-oom
-- retry.lua - failed attempts: each job waits for its next one, from now.
--
-- ARGV from 2: id, nonce, wait in ms, record, the attempt's line or '', ...     Returns {now_us, 1 done or 0 stale, ...}.
-- uses: attempts check fence hour take
check(2, 5, 3)
local verdicts = fence(2, 5)
local replies = {now_us}
for i = 2, #ARGV, 5 do
  local number, id = (i + 3) / 5, ARGV[i]
  replies[number + 1] = verdicts[number] and 1 or 0
  if verdicts[number] then
    take(id)
    forget_crashes(id)
    note_attempt(id, ARGV[i + 4])
    call('HSET', JOBS, id, ARGV[i + 3])
    count(topic_of(id), 'r', 1)
    put(id, soonest + tonumber(ARGV[i + 2]))
  end
end
write_counts()
finish()
return replies
