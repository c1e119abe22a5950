-- serving.lua - decides how many jobs of a topic a claim may lease.

local Serving = {uses = {Fifo, Limits, Openings, Rates, Turns}}

-- ---- settings ----

-- Topics that this claim has skipped, because the process that called it does not support their settings. If a claim
-- finds only such topics, its consumer waits for the next ring of the doorbell (turns.lua).
Serving.passed = {}
local is_passed = {}
local PASSED_MAX = 4
local function can_serve(topic) return settings_of(topic) ~= UNREADABLE and knows_needs(topic) end

-- Returns whether the process that called this claim supports the topic's settings. A sibling topic (orders~callbacks)
-- has its own settings, and some of its owner's (orders), so both are checked.
local function may_serve(topic)
  local owner = owner_of(topic)
  if can_serve(owner) and (owner == topic or can_serve(topic)) then return true end
  if not is_passed[topic] and #Serving.passed < PASSED_MAX then Serving.passed[#Serving.passed + 1] = topic end
  is_passed[topic] = true
  return false
end

-- Returns how many jobs of the topic may be leased now (maximum: most), and the topic's limit of jobs in flight
-- (being attempted).
function Serving.most(topic, most)
  local own, limit = settings_of(topic), Turns.limit_of(topic)
  if own.paused or own.delivery == 'pull' or not may_serve(topic) then return 0, limit end
  if own.windows and Openings.closed_until(topic) then return 0, limit end
  Turns.in_flight[topic] = Turns.in_flight[topic] or call('HLEN', holders_of(topic))
  most = math.min(most, limit - Turns.in_flight[topic])
  if own.order == 'fifo' and has(LINES) and Fifo.wait_until(topic) then return 0, limit end
  if own.rate then most = math.min(most, (Rates.tokens(topic))) end
  local shared = most > 0 and own.limit and Limits.of(topic)
  return shared and math.min(most, (Limits.room(shared, topic))) or most, limit
end

-- ---- weights ----

-- The setting weight shares the capacity of consumers between topics. The score of a topic in the sorted set "turns" is
-- its virtual time. The topic with the lowest score is served next, see turns.lua.

-- Returns how many jobs of the i-th topic a claim may lease in a row: at least share, and more as long as the topic's
-- virtual time stays below that of all other topics. scores: virtual times of the topics. turns: the turns that this
-- claim has already planned.
function Serving.share_before_next(i, weight, scores, turns, share)
  local following = scores[i + 1] or math.huge
  for j = 1, i - 1 do
    local turn = turns[j]
    if #turn.ids > 0 then following = math.min(following, turn.score + #turn.ids * Turns.A_JOB / turn.weight) end
  end
  return math.max(share, math.floor((following - scores[i]) * weight / Turns.A_JOB) + 1)
end

-- Subtracts the number first from all virtual times, but lowers none below 1. This happens once in years, before the
-- times become too large to be exact.
function Serving.renumber(first)
  if call('ZCARD', TURNS) > 1000 then return end
  local all = call('ZRANGE', TURNS, '0', '-1', 'WITHSCORES')
  for i = 1, #all, 2 do all[i], all[i + 1] = math.max(1, all[i + 1] - first), all[i] end
  call('ZADD', TURNS, unpack(all))
end

function Serving.begin()
  if #Serving.passed > 0 then Serving.passed = {} end
  if next(is_passed) then is_passed = {} end
end

return Serving
