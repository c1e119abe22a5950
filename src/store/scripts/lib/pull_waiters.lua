-- pull_waiters.lua - notifies processes whose clients wait for jobs of a pull topic when a job may be leased.
--
-- PULL_WAITERS: topic -> time until which a process waits, ms. A process that waits longer renews the entry.
-- uses: clock has publish

-- Called for each pull topic with due jobs that may be leased. If a message is lost, workers wait until the
-- next renewal.
-- rare: pull_waiters
local function call_waiters(topic)
  local until_ms = has(PULL_WAITERS) and call('ZSCORE', PULL_WAITERS, topic)
  if until_ms and tonumber(until_ms) > now then publish('pull ' .. topic) end
end

-- rare: pull_waiters
local function await(topic, until_ms)
  call('ZREMRANGEBYSCORE', PULL_WAITERS, '-inf', now)
  call('ZADD', PULL_WAITERS, 'GT', integer(until_ms), topic)
  is_there[PULL_WAITERS] = true
end
