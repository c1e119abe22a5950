#!lua flags=allow-oom
-- bury.lua - jobs that are given up: they leave the pool, dead, and are kept.
--
-- ARGV from 2: id, nonce, record, the attempt's line or '', ...     Returns {now_us, 1 done or 0 stale, ...}.
-- uses: bury check fence linger revive take
check(2, 4)
local verdicts = fence(2, 4)
local replies = {now_us}
for i = 2, #ARGV, 4 do
  local number, id = (i + 2) / 4, ARGV[i]
  replies[number + 1] = verdicts[number] and 1 or 0
  if verdicts[number] then
    if verdicts[number] == 'dead' then bring_back(id) end
    take(id)
    bury(id, ARGV[i + 2], 0, ARGV[i + 3])
  else
    end_lingering(id, ARGV[i + 1])
  end
end
write_counts()
date_dead_topics()
finish()
return replies
