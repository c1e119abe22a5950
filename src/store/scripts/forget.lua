#!lua flags=allow-oom
-- forget.lua - one step of limited size that removes idempotency keys whose window is over. Redis's own
-- expiry is not used.
--
-- ARGV[2] maximum number of keys
-- Returns {now_us, number of keys removed}.
-- uses: clock idempotency probe
probe()
local keys = call('ZRANGEBYSCORE', WINDOWS, '-inf', now, 'LIMIT', 0, ARGV[2])
if #keys > 0 then
  call('HDEL', IDEMPOTENCY, unpack(keys))
  call('ZREM', WINDOWS, unpack(keys))
end
return {now_us, #keys}
