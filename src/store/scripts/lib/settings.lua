-- settings.lua - settings of topics, which operators change.
-- uses: has needs patterns topic

local CALLBACKS = {'onDelivered', 'onDead', 'onAttempt'}

local function is_number(value, low, high) return type(value) == 'number' and value >= low and value <= high end

-- Returns whether the settings have the types and ranges that scripts rely on. The C code checks all other rules.
local function are_sound(s)
  local rate = s.rate
  if s.paused ~= nil and type(s.paused) ~= 'boolean' or s.url and type(s.url) ~= 'string' then return false end
  for _, name in ipairs(CALLBACKS) do
    local url = type(s[name]) == 'table' and s[name].url or s[name]
    if url and type(url) ~= 'string' then return false end
  end
  if s.needs and type(s.needs) ~= 'table' then return false end
  if s.order and type(s.order) ~= 'string' or s.delivery and type(s.delivery) ~= 'string' then return false end
  if s.maxInFlight and not is_number(s.maxInFlight, 1, 1e9) then return false end
  if s.weight and not is_number(s.weight, 1, 100) then return false end
  if s.retention and not is_number(s.retention, 0.001, 1e9) then return false end
  if not rate then return rate == nil end
  return type(rate) == 'table' and is_number(rate.jobs, 1, 1e9) and is_number(rate.per, 0.001, 1e9)
    and is_number(rate.burst, 1, 1e9) and (rate.window == nil or type(rate.window) == 'boolean')
    and (not rate.since or is_number(rate.since, 0, 1e15))
end

-- Caches of this call, by topic: the JSON text that topic_settings.c wrote, and the settings in it. The settings are
-- UNREADABLE if scripts cannot use this text; no process serves such a topic.
local settings_texts, settings = {}, {}
local NO_SETTINGS, UNREADABLE = {}, {}
-- rare: settings
local function read_settings(text)
  local is_json, read = pcall(cjson.decode, text)
  if not is_json or type(read) ~= 'table' then return UNREADABLE end
  if are_sound(read) then return read end
  -- A later version may write values that are_sound refuses. The settings then list, in their member needs, a feature
  -- that this version lacks.
  local lacks = type(read.needs) == 'table' and not knows_all(read.needs)
  return lacks and {needs = read.needs} or UNREADABLE
end

-- Caches of this call: topic -> the pattern that applies to it, and pattern -> its settings.
local pattern_of_topic, pattern_settings = {}, {}
-- rare: settings
local function with_pattern(topic, own)
  local name = pattern_of(topic)
  if not name then return own end
  if not pattern_settings[name] then
    settings_texts[name] = call('HGET', PATTERNS, name)
    pattern_settings[name] = read_settings(settings_texts[name])
  end
  local common = pattern_settings[name]
  pattern_of_topic[topic] = name
  if own == NO_SETTINGS then return common end
  if own == UNREADABLE or common == UNREADABLE then return UNREADABLE end
  local merged = {}
  for member, value in pairs(common) do merged[member] = value end
  for member, value in pairs(own) do merged[member] = value end
  if own.needs and common.needs then merged.needs = {unpack(common.needs)} end
  for _, name in ipairs(own.needs and common.needs and own.needs or {}) do merged.needs[#merged.needs + 1] = name end
  return merged
end

-- rare: settings
local function note_settings(topic, text)
  local own = text and read_settings(text) or NO_SETTINGS
  settings_texts[topic] = text
  settings[topic] = has(PATTERNS) and with_pattern(topic, own) or own
end

-- Returns whether any topic or pattern has settings. Without any, scripts do not need most helpers for settings.
-- Scripts call this function several times for each topic, so the answer is cached.
local are_settings
local function has_settings()
  if are_settings == nil then are_settings = has(TOPICS) or has(PATTERNS) end
  return are_settings
end

-- Updates the cached answers after a script has written TOPICS or PATTERNS. exists: whether the key exists now.
local function note_settings_key(key, exists)
  is_there[key], are_settings = exists, nil
end

-- Returns the settings of a topic, completed by those of its patterns.
local function settings_of(topic)
  if not settings[topic] then
    if not has_settings() then return NO_SETTINGS end
    note_settings(topic, has(TOPICS) and call('HGET', TOPICS, topic) or nil)
  end
  return settings[topic]
end

-- Returns whether the topic is delivered in order, one job at a time, see line.lua.
-- rare: settings
local function is_fifo(topic) return settings_of(topic).order == 'fifo' end

-- Returns whether workers lease the jobs of the topic, see lease.lua. Such jobs are not POSTed.
-- rare: settings
local function is_pull(topic) return settings_of(topic).delivery == 'pull' end

-- Reads the settings of many topics at once, if this call has not read them yet.
-- rare: settings
local function fetch_settings(topics)
  if #topics < 2 or not has(TOPICS) then return end
  local unread = {}
  for i = 1, #topics do
    if not settings[topics[i]] then unread[#unread + 1] = topics[i] end
  end
  if #unread == 0 then return end
  local texts = call('HMGET', TOPICS, unpack(unread))
  for i = 1, #unread do note_settings(unread[i], texts[i]) end
end

-- Returns the settings of a topic as JSON text for the C code: the topic's own settings, those of its pattern, both as
-- '[topic,pattern]', or '' if it has none.
local function settings_text_of(topic)
  if settings_of(topic) == NO_SETTINGS then return '' end
  local own, name = settings_texts[topic], pattern_of_topic[topic]
  if not name then return own end
  return own and '[' .. own .. ',' .. settings_texts[name] .. ']' or settings_texts[name]
end

-- Returns the settings that the C code needs to serve or show a job of the topic, as text: those of the owner topic.
-- The C function topic_settings_read_for selects the parts that a sibling topic (orders~callbacks) uses.
local function serving_text_of(topic) return settings_text_of(owner_of(topic)) end

-- Returns whether this version supports all features that the topic's settings use. If one is not supported, the
-- topic stays in turns (offer.lua), because a process of another version may support it.
-- rare: settings
local function knows_needs(topic) return knows_all(settings_of(topic).needs or {}) end

-- Appends topic and settings (a text) to replies, for each topic that has settings.
-- rare: settings
local function add_settings(replies, topics)
  for i = 1, #topics do
    local text = serving_text_of(topics[i])
    if text ~= '' then
      replies[#replies + 1] = topics[i]
      replies[#replies + 1] = text
    end
  end
end
