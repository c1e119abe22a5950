-- settings.lua - settings of topics and patterns, which operators change.

-- ---- features that this version supports ----

-- The settings of a topic list the features that they use by name, in their member needs. CMakeLists.txt fills in the
-- features that this version supports, here and in job/unknown_members.c.
local KNOWN_NEEDS = ' @KNOWN_NEEDS@ '

local function knows_all(names)
  for _, name in ipairs(names) do
    if not string.find(KNOWN_NEEDS, ' ' .. tostring(name) .. ' ', 1, true) then return false end
  end
  return true
end

-- ---- patterns ----

-- A pattern, such as orders-*, has settings for all topics whose names match. If a topic does not have a setting
-- itself, the setting of the longest pattern that matches the topic's name applies. The text of a pattern already
-- contains the settings of shorter patterns (see topic_layers.h), so scripts read one pattern only. Here, patterns do
-- not match sibling topics, such as orders~callbacks.

-- pattern_sizes: the different lengths of the patterns without their '*', the longest length first.
local is_pattern, pattern_sizes
local function read_patterns()
  local names, has_size = call('HKEYS', PATTERNS), {}
  is_pattern, pattern_sizes = {}, {}
  for i = 1, #names do
    local size = #names[i] - 1
    is_pattern[names[i]] = true
    if not has_size[size] then pattern_sizes[#pattern_sizes + 1] = size end
    has_size[size] = true
  end
  table.sort(pattern_sizes, function(a, b) return a > b end)
end

-- Returns the longest pattern that matches the topic, or nothing.
local function pattern_of(topic)
  if not is_pattern then read_patterns() end
  if string.find(topic, '~', 1, true) then return end
  for i = 1, #pattern_sizes do
    local name = string.sub(topic, 1, pattern_sizes[i]) .. '*'
    if is_pattern[name] then return name end
  end
end

-- ---- settings of topics ----

local CALLBACKS = {'onDelivered', 'onDead', 'onAttempt'}

local function is_number(value, low, high) return type(value) == 'number' and value >= low and value <= high end

local function is_sound_rate(rate)
  return type(rate) == 'table' and is_number(rate.jobs, 1, 1e9) and is_number(rate.per, 0.001, 1e9)
    and is_number(rate.burst, 1, 1e9) and (rate.window == nil or type(rate.window) == 'boolean')
    and (not rate.since or is_number(rate.since, 0, 1e15))
end

-- Returns whether the bounds of a key are sound: those in perKey, or the key's own.
local function are_sound_bounds(b)
  return type(b) == 'table' and (b.maxInFlight == nil or is_number(b.maxInFlight, 1, 1e9))
    and (b.rate == nil or is_sound_rate(b.rate)) and (b.maxPending == nil or is_number(b.maxPending, 0, 1e9))
    and (b.weight == nil or is_number(b.weight, 1, 100)) and (b.order == nil or type(b.order) == 'string')
    and (b.paused == nil or type(b.paused) == 'boolean')
end

-- Returns whether the settings have the types and ranges that scripts rely on. The C code checks all other rules.
local function are_sound(s)
  if s.paused ~= nil and type(s.paused) ~= 'boolean' or s.url and type(s.url) ~= 'string' then return false end
  for _, name in ipairs(CALLBACKS) do
    local url = type(s[name]) == 'table' and s[name].url or s[name]
    if url and type(url) ~= 'string' then return false end
  end
  if s.needs and type(s.needs) ~= 'table' then return false end
  if s.order and type(s.order) ~= 'string' or s.delivery and type(s.delivery) ~= 'string' then return false end
  if s.maxInFlight and not is_number(s.maxInFlight, 1, 1e9) then return false end
  if s.limit and type(s.limit) ~= 'string' then return false end
  if s.maxPending and not is_number(s.maxPending, 0, 1e9) then return false end
  if s.weight and not is_number(s.weight, 1, 100) then return false end
  if s.retention and not is_number(s.retention, 0.001, 1e9) then return false end
  local batch = s.batch
  if batch ~= nil and not (type(batch) == 'table' and is_number(batch.size, 1, 1e6) and (batch.wait == nil or is_number(batch.wait, 0, 1e6))) then
    return false
  end
  if s.windows ~= nil and type(s.windows) ~= 'table' then return false end
  if s.perKey ~= nil and not are_sound_bounds(s.perKey) then return false end
  if s.priorityAge and s.priorityAge ~= 'off' and not is_number(s.priorityAge, 0.001, 1e9) then return false end
  if s.retryPriority and not is_number(s.retryPriority, 0, 9) then return false end
  return s.rate == nil or is_sound_rate(s.rate)
end

-- Caches of this call, by topic: the JSON text that topic_settings.c wrote, and the settings in it. The settings are
-- UNREADABLE if scripts cannot use this text; no process serves such a topic.
local settings_texts, settings = {}, {}
local NO_SETTINGS, UNREADABLE = {}, {}
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

-- Sets the settings of a lane (lanes.lua): the setting perKey of its topic, completed by the key's own settings. The jobs
-- without a key have none.
local settings_of
local function note_lane_settings(name, topic, key)
  local common = key ~= '' and settings_of(topic).perKey or NO_SETTINGS
  local text = key ~= '' and has(KEY_SETTINGS) and call('HGET', KEY_SETTINGS, name)
  local own = text and read_settings(text)
  settings[name] = common
  if not own then return end
  settings[name] = own
  if own == UNREADABLE or not knows_all(own.needs or {}) then
    settings[name] = UNREADABLE -- holds the lane
    return
  end
  settings[name] = {}
  for member, value in pairs(common) do settings[name][member] = value end
  for member, value in pairs(own) do settings[name][member] = value end
end

-- Returns the settings of a topic, completed by those of its patterns; or those of a lane or a limit that topics share.
function settings_of(topic)
  if not settings[topic] then
    if not has_settings() and not has(KEY_SETTINGS) then return NO_SETTINGS end
    if string.byte(topic) == 126 then -- '~': the settings of a limit, see limits.lua
      note_settings(topic, has(LIMITS) and call('HGET', LIMITS, string.sub(topic, 2)) or nil)
    elseif string.find(topic, '\n', 1, true) then
      note_lane_settings(topic, string.match(topic, '^([^\n]*)\n(.*)$'))
    else
      note_settings(topic, has(TOPICS) and call('HGET', TOPICS, topic) or nil)
    end
  end
  return settings[topic]
end

-- Returns whether the topic is delivered in order, one job at a time, see fifo.lua.
local function is_fifo(topic) return settings_of(topic).order == 'fifo' end

-- Returns whether workers lease the jobs of the topic, see lease.lua. Such jobs are not POSTed.
local function is_pull(topic) return settings_of(topic).delivery == 'pull' end

-- Reads the settings of many topics at once, if this call has not read them yet.
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
-- topic stays in turns (turns.lua), because a process of another version may support it.
local function knows_needs(topic) return knows_all(settings_of(topic).needs or {}) end

-- Appends topic and settings (a text) to replies, for each topic that has settings.
local function add_settings(replies, topics)
  for i = 1, #topics do
    local text = serving_text_of(topics[i])
    if text ~= '' then
      replies[#replies + 1] = topics[i]
      replies[#replies + 1] = text
    end
  end
end

-- ---- retention ----

-- Returns for how many ms a job of the topic can be read after its end. Returns nothing if the topic has no retention:
-- in this case, a dead job can be read as long as the server's limits allow, and other jobs cannot be read after their
-- end. A sibling topic (orders~callbacks) has the retention of its owner topic (orders), because its jobs may contain
-- all data of the owner's jobs.
local function retention_of(topic)
  local seconds = settings_of(owner_of(topic)).retention
  return seconds and math.floor(seconds * 1000 + 0.5)
end

-- ---- beginning of a call ----

local function begin_settings()
  is_pattern, pattern_sizes = nil, nil
  are_settings = nil
  if next(settings) then settings, settings_texts, pattern_of_topic, pattern_settings = {}, {}, {}, {} end
end
