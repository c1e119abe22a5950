-- base.lua - what most scripts use: the time, the topic of an id, and whether a key exists.

-- ---- time ----

-- A script reads the time of Redis once, so all its steps have the same time. now is the time in ms, rounded down. A
-- job is due when now has reached its due time. soonest is the time in ms, rounded up. Delays are counted from soonest,
-- so that no job is early by a fraction of a ms.
local now_us, now, soonest

-- lease_now: the time by which consumers' leases and the waits of workers end, ms. A manual clock (manual_clock.lua) sets is_manual, and has another
-- lease_now than now.
local clock = {}

-- A job's score in its bucket is its due time in ms and a fraction. The fraction keeps jobs of the same ms in the order
-- of their arrival. A job is due when the clock has reached the whole ms of its score.
local due_before -- the scores of due jobs are below this number
local function is_due(score) return tonumber(score) < due_before end
local function ms_of(score) return math.floor(tonumber(score)) end

-- Returns a number as text without a fraction. Lua's tostring would keep only 14 digits. The format '%d' takes a
-- quarter of the time of '%.0f', but it is correct only for whole numbers below 2^53, and only where a C long has 64 bits.
local WHOLE -- '%d' if a C long has 64 bits
local function integer(number)
  return string.format(number % 1 == 0 and number % 9007199254740992 == number and WHOLE or '%.0f', number)
end

-- Returns the time since the call began, us, for steps that may take a limited time.
function clock.spent_us()
  local at = call('TIME')
  return at[1] * 1000000 + at[2] - now_us
end

-- ---- topics ----

-- Cache: id -> topic. Scripts need the topic of an id several times, and a look-up in a table costs less than matching
-- a pattern.
local topics_of = {}
local function topic_of(id)
  local topic = topics_of[id]
  if not topic then
    topic = string.match(id, '^[^/]*')
    topics_of[id] = topic
  end
  return topic
end

-- Returns the owner of a topic. orders is the owner of its sibling topic orders~callbacks, see job_id.h. A topic that
-- is not a sibling is its own owner.
local function owner_of(topic)
  local at = string.find(topic, '~', 1, true)
  return at and string.sub(topic, 1, at - 1) or topic
end

-- ---- keys that may not exist ----

-- Returns whether one of the rare keys (keys.lua) exists. A call of a script queries Redis at most once for each key. A
-- script that creates such a key sets is_there[key]. has_rare_keys is false if probe() has found that none of the keys
-- exists.
local is_there, has_rare_keys = {}, true
local has_lanes -- has(LANES), for code that every job passes
local function has(key)
  local there = is_there[key]
  if there ~= nil then return there end
  there = has_rare_keys and call('EXISTS', key) == 1
  is_there[key] = there
  return there
end

-- Returns whether a history is on. probe() does not check the key HISTORY, because servers with a history always have
-- it.
local function has_history()
  if is_there[HISTORY] == nil then is_there[HISTORY] = call('EXISTS', HISTORY) == 1 end
  return is_there[HISTORY]
end

-- ---- beginning of a call ----

local function begin_base()
  local time = call('TIME')
  WHOLE = WHOLE or #string.format('%d', 1e12) == 13 and '%d' or '%.0f'
  now_us = time[1] * 1000000 + time[2]
  now, soonest = math.floor(now_us / 1000), math.ceil(now_us / 1000)
  due_before, clock.lease_now = now + 1, now
  if next(topics_of) then topics_of = {} end
  if next(is_there) then is_there = {} end
  has_rare_keys, has_lanes = true, false
end
