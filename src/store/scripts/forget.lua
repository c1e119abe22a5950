#!lua flags=allow-oom
-- forget.lua - one step of limited size that removes idempotency keys whose window is over, and the entries of
-- sends whose jobs have ended. These keys do not use Redis's own expiry (EXPIRE).
--
-- ARGV[2] maximum number of keys   [3] maximum number of sends
-- Returns {now_us, number of keys removed, number of sends examined}.
-- uses: clock idempotency probe sends
local HOUR_MS = 3600000
probe()
local keys = call('ZRANGEBYSCORE', WINDOWS, '-inf', now, 'LIMIT', 0, ARGV[2])
if #keys > 0 then
  call('HDEL', IDEMPOTENCY, unpack(keys))
  call('ZREM', WINDOWS, unpack(keys))
end
local ids = call('ZRANGEBYSCORE', SENDS_UNTIL, '-inf', now, 'LIMIT', 0, ARGV[3])
for i = 1, #ids do
  local _, _, endpoints = send_of(ids[i])
  if endpoints and first_left(ids[i], endpoints) then
    call('ZADD', SENDS_UNTIL, integer(now + HOUR_MS), ids[i])
  else
    drop_send(ids[i])
  end
end
return {now_us, #keys, #ids}
