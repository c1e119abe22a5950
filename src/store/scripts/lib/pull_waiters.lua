-- pull_waiters.lua - when a job of a pull topic may be leased, notifies the processes whose clients wait for jobs of
-- this topic.
--
-- PULL_WAITERS: topic -> time until which a process waits, ms. A process whose clients wait longer renews the entry.
-- uses: clock has publish

-- Publishes that workers can lease jobs of this pull topic. If the message is lost, workers wait until the next
-- renewal.
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
