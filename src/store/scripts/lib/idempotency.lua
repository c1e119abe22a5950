-- idempotency.lua - the stored answers of requests with an idempotency key.

local Idempotency = {uses = {}}

local FORGOTTEN_MS = 10000 -- time after an expiry in which the answer is removed

-- Returns the answer to a repeated request: {'repeated', due, id} of the first request with this idempotency key, or
-- {'throttled', due, id} if another job stood for that one;
-- REUSED if the first request had other content; or nothing if the key is new or has expired. once: fingerprint of the
-- content, a space, key; see schedule.lua.
--
-- An answer is removed within seconds of its expiry (forget.lua). An answer that has expired long ago and still exists
-- is one that must not be removed, because the clock has stepped ahead, so it counts.
function Idempotency.answer(once)
  local fingerprint, key = string.match(once, '^(%S+) (.+)$')
  local kept = call('HGET', IDEMPOTENCY, key)
  if not kept then return end
  local its_fingerprint, due, expiry, id = string.match(kept, '^(%S+) (%S+) (%S+) (.+)$')
  if tonumber(expiry) <= now and now - expiry <= FORGOTTEN_MS then return end
  if its_fingerprint ~= fingerprint then return RESULT.REUSED end
  return {string.sub(due, 1, 1) == '+' and 'throttled' or 'repeated', tonumber(due), id}
end

function Idempotency.forget(once)
  local key = string.match(once, '^%S+ (.+)$')
  call('HDEL', IDEMPOTENCY, key)
  call('ZREM', WINDOWS, key)
end

-- Stores the answer for window ms. If the fingerprint ends in '@' and a number, stores it for this number of ms
-- instead. The stored text is 'fingerprint due expiry id'. is_throttled: another job stands for this one; due then has a
-- plus, which earlier versions read as a part of the number.
function Idempotency.keep(once, id, due, window, is_throttled)
  local fingerprint, key = string.match(once, '^(%S+) (.+)$')
  window = tonumber(string.match(fingerprint, '@(%d+)$') or window)
  local expiry = integer(now + window)
  call('HSET', IDEMPOTENCY, key, table.concat({fingerprint, (is_throttled and '+' or '') .. integer(due), expiry, id}, ' '))
  call('ZADD', WINDOWS, expiry, key)
end

-- ---- one job for several requests ----

-- With throttle, the first job of a key is scheduled, and stands for all others within a time; with debounce, each job
-- of the key replaces the one before while this one waits. The job that stands is stored like an answer:
-- 'throttle due expiry id', or 'debounce first expiry id', where first is when the first job came, ms. The key has a
-- newline, so no request has it as its idempotency key. With debounce, the entry stays at least as long as the job is in
-- the pool (forget.lua), however long its topic is held: a job that is released without an attempt can be replaced again.

-- Returns the number and the id that are stored under the key, or nothing if the key is new or its time is over.
function Idempotency.standing(key)
  local kept = call('HGET', IDEMPOTENCY, key)
  local kind, number, expiry, id = string.match(kept or '', '^(%S+) (%S+) (%S+) (.+)$')
  if id and (kind == 'debounce' or tonumber(expiry) > now) then return tonumber(number), id end
end

-- Returns whether this is the key of a debounce whose job has not ended.
function Idempotency.is_awaited(key)
  if not string.find(key, '/\ndebounce\n', 1, true) then return false end
  local _, id = Idempotency.standing(key)
  return id and call('HEXISTS', JOBS, id) == 1
end

function Idempotency.stand(kind, key, number, id, window)
  Idempotency.keep(kind .. ' ' .. key, id, number, window)
end

return Idempotency
