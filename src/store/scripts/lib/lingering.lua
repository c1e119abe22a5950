-- lingering.lua - attempts that still run although their job was cancelled.
-- uses: has topic

-- Such an attempt lingers: it still counts as in flight until it ends or its deadline passes. Until then,
-- holders:<topic> has a field for it, with the same name as in LINGERING. Renewals of the attempt move the deadline.
-- LINGERING: id, newline, nonce -> deadline, ms. PULL_LINGERING has the same for jobs that workers have leased,
-- because their deadlines may be hours away.
local function place_of(id, nonce) return id .. '\n' .. nonce end

local function lingering_of(place) return string.find(place, '\np', 1, true) and PULL_LINGERING or LINGERING end

-- rare: lingering
local function is_lingering(place)
  local key = lingering_of(place)
  return has(key) and call('ZSCORE', key, place) ~= false
end

-- Removes the entry of a lingering attempt, which then no longer counts as in flight. The caller must offer the topic.
-- rare: lingering
local function free_place(place)
  call('ZREM', lingering_of(place), place)
  call('HDEL', holders_of(topic_of(place)), place)
end
