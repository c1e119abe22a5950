#!lua flags=allow-oom
-- complete.lua - jobs that were delivered leave the pool.
--
-- ARGV from 2: id, nonce, ...     Returns {now_us, 1 done or 0 stale, ...}.
check(2, 2)
local verdicts = fence(2, 2)
local replies = {now_us}
local gone, by_topic = {}, {}
for i = 2, #ARGV, 2 do
  local number, id = i / 2, ARGV[i]
  local topic = topic_of(id)
  replies[number + 1] = verdicts[number] and 1 or 0
  if verdicts[number] then
    gone[#gone + 1] = id
    forget_crashes(id)
    if verdicts[number] == 'late' then
      take(id)
      count(topic, 'd', 1)
    else
      by_topic[topic] = by_topic[topic] or {}
      table.insert(by_topic[topic], id)
      touch(topic)
    end
  end
end
for topic, ids in pairs(by_topic) do
  count(topic, 'd', #ids)
  call('ZREM', LEASES, unpack(ids))
  call('HDEL', holders_of(topic), unpack(ids))
end
if #gone > 0 then
  call('HDEL', JOBS, unpack(gone))
  forget_attempts(gone)
end
finish()
return replies
