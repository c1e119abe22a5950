-- idempotency.lua - the stored answers of requests with an idempotency key.
-- uses: clock

local IDEMPOTENCY, WINDOWS = base .. 'idempotency', base .. 'windows' -- key -> its answer; key -> expiry, ms

-- Returns the stored answer of a key, 'fingerprint due expiry id', or nothing. once: see schedule.lua.
-- rare: idempotency
local function answered(once)
  local fingerprint, key = string.match(once, '^(%S+) (.+)$')
  local kept = call('HGET', IDEMPOTENCY, key)
  if not kept then return end
  local its_fingerprint, due, expiry, id = string.match(kept, '^(%S+) (%S+) (%S+) (.+)$')
  if tonumber(expiry) <= now then return end
  return its_fingerprint == fingerprint and {'repeated', tonumber(due), id} or RESULT_REUSED
end

-- rare: idempotency
local function forget_answer(once)
  local key = string.match(once, '^%S+ (.+)$')
  call('HDEL', IDEMPOTENCY, key)
  call('ZREM', WINDOWS, key)
end

-- Stores an answer for window ms. If the fingerprint ends in '@' and a number, the answer is stored for this number of
-- ms instead.
-- rare: idempotency
local function keep_answer(once, id, due, window)
  local fingerprint, key = string.match(once, '^(%S+) (.+)$')
  window = tonumber(string.match(fingerprint, '@(%d+)$') or window)
  local expiry = integer(now + window)
  call('HSET', IDEMPOTENCY, key, table.concat({fingerprint, integer(due), expiry, id}, ' '))
  call('ZADD', WINDOWS, expiry, key)
end
