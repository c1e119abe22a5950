-- serve.lua - decides which topics a claim may serve, by their settings.
-- uses: line offer rate settings topic

-- Topics that the claim has skipped, because this process cannot serve them. If a claim finds only such topics, its
-- consumer waits for the next ring of the doorbell.
local passed, is_passed = {}, {}
local PASSED_MAX = 4
-- rare: settings
local function can_serve(topic) return settings_of(topic) ~= UNREADABLE and knows_needs(topic) end

-- Returns whether this process may serve the topic. A sibling topic has its own settings, and also some of
-- its owner's.
-- rare: settings
local function may_serve(topic)
  local owner = owner_of(topic)
  if can_serve(owner) and (owner == topic or can_serve(topic)) then return true end
  if not is_passed[topic] and #passed < PASSED_MAX then passed[#passed + 1] = topic end
  is_passed[topic] = true
  return false
end

-- Returns how many of these jobs of a topic with settings may be leased now, and the limit of its jobs in flight.
-- rare: settings
local function most_by_settings(topic, most)
  local own, limit = settings_of(topic), limit_of(topic)
  if own.paused or own.delivery == 'pull' or not may_serve(topic) then return 0, limit end
  in_flight[topic] = in_flight[topic] or call('HLEN', holders_of(topic))
  most = math.min(most, limit - in_flight[topic])
  if own.order == 'fifo' and has(LINES) and line_until(topic) then return 0, limit end
  return own.rate and math.min(most, (tokens_of(topic))) or most, limit
end
