-- pull_waiters.lua - notifies processes when a job of a pull topic (its jobs are leased by workers) can be leased, if
-- workers wait for jobs of this topic.
--
-- The sorted set PULL_WAITERS: topic -> time until which messages about it are needed, ms. A process whose workers wait
-- longer renews the entry.
-- uses: clock has publish

-- Publishes that jobs of this topic can be leased, if workers wait for them. If the message is lost, the workers wait
-- until their process renews the entry.
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
