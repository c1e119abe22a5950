-- serve.lua - decides, by the settings of a topic, whether a claim may lease jobs of this topic, and how many.
-- uses: line offer rate settings topic

-- Topics that this claim has skipped, because the process that called it does not support their settings. If a claim
-- finds only such topics, its consumer waits for the next ring of the doorbell (bell.lua).
local passed, is_passed = {}, {}
local PASSED_MAX = 4
-- rare: settings
local function can_serve(topic) return settings_of(topic) ~= UNREADABLE and knows_needs(topic) end

-- Returns whether the process that called this claim supports the topic's settings. A sibling topic (orders~callbacks)
-- has its own settings, and some of its owner's (orders), so both are checked.
-- rare: settings
local function may_serve(topic)
  local owner = owner_of(topic)
  if can_serve(owner) and (owner == topic or can_serve(topic)) then return true end
  if not is_passed[topic] and #passed < PASSED_MAX then passed[#passed + 1] = topic end
  is_passed[topic] = true
  return false
end

-- Returns how many jobs of the topic may be leased now (maximum: most), and the topic's limit of jobs in flight
-- (being attempted).
-- rare: settings
local function most_by_settings(topic, most)
  local own, limit = settings_of(topic), limit_of(topic)
  if own.paused or own.delivery == 'pull' or not may_serve(topic) then return 0, limit end
  in_flight[topic] = in_flight[topic] or call('HLEN', holders_of(topic))
  most = math.min(most, limit - in_flight[topic])
  if own.order == 'fifo' and has(LINES) and line_until(topic) then return 0, limit end
  return own.rate and math.min(most, (tokens_of(topic))) or most, limit
end
