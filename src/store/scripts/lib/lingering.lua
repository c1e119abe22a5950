-- lingering.lua - attempts that still run although their job was cancelled or replaced.
-- uses: has topic

-- Such an attempt lingers: it counts as in flight until it ends or the deadline of its lease passes. The sorted set
-- LINGERING has the deadlines of these attempts: id, newline, nonce of the lease -> deadline, ms. If the consumer
-- renews the lease, the deadline changes. The hash holders:<topic>, whose size is the number of jobs in flight, has a
-- field with the same name as the entry in LINGERING; its value is 'replaced' if a new job has replaced the job of this
-- attempt, else ''. The entries of jobs that workers have leased are in
-- PULL_LINGERING instead, because their deadlines may be hours away.
local function place_of(id, nonce) return id .. '\n' .. nonce end

local function lingering_of(place) return string.find(place, '\np', 1, true) and PULL_LINGERING or LINGERING end

-- rare: lingering
local function is_lingering(place)
  local key = lingering_of(place)
  return has(key) and call('ZSCORE', key, place) ~= false
end

-- Returns why an attempt lingers, 'replaced' or '', or nothing if it does not.
-- rare: lingering
local function why_lingering(place)
  return is_lingering(place) and call('HGET', holders_of(topic_of(place)), place) or nil
end

-- Removes the entries of a lingering attempt, which then no longer counts as in flight. The caller must then offer the
-- topic (offer.lua), because another job may now be leased. place: id, newline, nonce.
-- rare: lingering
local function free_place(place)
  call('ZREM', lingering_of(place), place)
  call('HDEL', holders_of(topic_of(place)), place)
end
