#!lua flags=allow-oom
-- sweep.lua - a bounded step through what has been kept for as long as its topic says: jobs that have ended, and dead
-- ones.
--
-- ARGV[2] the most jobs to remove or, of the dead, to look at   [3] how many of the dead to pass over
-- Returns {now_us, how many that had ended, how many dead ones are gone, how many of the dead to pass over in the next
-- step, 0 at the end}. When others change the dead meanwhile some are missed, and found by the next walk.
-- uses: keep probe
local most, from = tonumber(ARGV[2]), tonumber(ARGV[3])
probe()

local ended = call('ZRANGEBYSCORE', KEPT_UNTIL, '-inf', now, 'LIMIT', 0, most)
if #ended > 0 then
  call('HDEL', KEPT, unpack(ended))
  call('ZREM', KEPT_UNTIL, unpack(ended))
end

local dead, gone = call('ZRANGE', DEAD, from, from + most - 1, 'WITHSCORES'), {}
for i = 1, #dead, 2 do
  local retention = retention_of(topic_of(dead[i]))
  if retention and tonumber(dead[i + 1]) + retention <= now then gone[#gone + 1] = dead[i] end
end
if #gone > 0 then
  call('ZREM', DEAD, unpack(gone))
  call('HDEL', JOBS, unpack(gone))
  call('HDEL', CRASHES, unpack(gone))
  forget_attempts(gone)
end
return {now_us, #ended, #gone, #dead < 2 * most and 0 or from + most - #gone}
