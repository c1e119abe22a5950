#!lua flags=allow-oom
-- forget.lua - a bounded step through the idempotency keys whose window is over. No expiry of Redis's is relied on.
--
-- ARGV[2] the most keys
-- Returns {now_us, number of keys forgotten}.
-- uses: clock idempotency probe
probe()
local keys = call('ZRANGEBYSCORE', WINDOWS, '-inf', now, 'LIMIT', 0, ARGV[2])
if #keys > 0 then
  call('HDEL', IDEMPOTENCY, unpack(keys))
  call('ZREM', WINDOWS, unpack(keys))
end
return {now_us, #keys}
