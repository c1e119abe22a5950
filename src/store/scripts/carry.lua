#!lua flags=allow-oom
-- carry.lua - the carry worker's step: keeps or takes the lock, offers the topics whose time has come,
-- rings. Harmless when two do it.
--
-- ARGV[2] who asks   [3] 1: once a second, raises the beat; 2: the same without the beat, where nobody
-- can be watching it, so that an idle Redis writes nothing; 0: in between; -1: give the lock back
-- ARGV[4] the most topics
-- ARGV[5] [6] owner and beat of a lock that stood still for too long: take it over; else empty
-- ARGV[7] lease, ms
-- Returns {now_us, owner, beat, next due time or -1, 1 when there are leases to recover, topics offered};
-- the last three are of use to the owner only.
-- uses: idempotency lost places probe
local is_tick = ARGV[3] == '1' or ARGV[3] == '2'
local me, most, lease_ms = ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[7])
local CARRY = base .. 'carry'
probe()
local lock = call('HMGET', CARRY, 'owner', 'beat')
local owner, beat = lock[1], tonumber(lock[2]) or 0
local is_stuck = owner and owner == ARGV[5] and integer(beat) == ARGV[6]
if not owner or is_stuck then owner = me end
if owner ~= me then return {now_us, owner, beat, -1, 0, 0} end
if ARGV[3] == '-1' then
  call('DEL', CARRY)
  return {now_us, '', beat, -1, 0, 0}
end
if ARGV[3] == '1' or lock[1] ~= me then
  beat = beat + 1
  call('HSET', CARRY, 'owner', me, 'beat', integer(beat), 'at', integer(now))
end
local topics = call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, most)
for i = 1, #topics do touch(topics[i]) end
finish()
if #topics == 0 and is_tick then ring() end
-- A little of what idempotency keys leave behind, each second; no expiry of Redis's is relied on.
local function forget_keys()
  local keys = call('ZRANGEBYSCORE', WINDOWS, '-inf', now, 'LIMIT', 0, 1000)
  if #keys == 0 then return end
  call('HDEL', IDEMPOTENCY, unpack(keys))
  call('ZREM', WINDOWS, unpack(keys))
end
if is_tick then forget_keys() end
local next_due = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
if not next_due or next_due == 'inf' then next_due = -1 end
return {now_us, owner, beat, tonumber(next_due), lost_leases(lease_ms, 1)[1] and 1 or 0, #topics}
