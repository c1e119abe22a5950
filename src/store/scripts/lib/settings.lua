-- settings.lua - settings of topics, which operators change.
-- uses: has needs topic

local CALLBACKS = {'onDelivered', 'onDead', 'onAttempt'}

local function is_number(value, low, high) return type(value) == 'number' and value >= low and value <= high end

-- Whether scripts can work with them; the rest of what they must be, C checks.
local function are_sound(s)
  local rate = s.rate
  if s.paused ~= nil and type(s.paused) ~= 'boolean' or s.url and type(s.url) ~= 'string' then return false end
  for _, name in ipairs(CALLBACKS) do
    local url = type(s[name]) == 'table' and s[name].url or s[name]
    if url and type(url) ~= 'string' then return false end
  end
  if s.needs and type(s.needs) ~= 'table' then return false end
  if s.maxInFlight and not is_number(s.maxInFlight, 1, 1e9) then return false end
  if s.weight and not is_number(s.weight, 1, 100) then return false end
  if s.retention and not is_number(s.retention, 0.001, 1e9) then return false end
  if not rate then return rate == nil end
  return type(rate) == 'table' and is_number(rate.jobs, 1, 1e9) and is_number(rate.per, 0.001, 1e9)
    and is_number(rate.burst, 1, 1e9)
end

-- Returns a topic's settings, which are JSON that topic_settings.c wrote. UNREADABLE: duepost did not write them, and no
-- process serves the topic.
local settings_texts, settings = {}, {}
local NO_SETTINGS, UNREADABLE = {}, {}
-- rare: settings
local function read_settings(text)
  local is_json, read = pcall(cjson.decode, text)
  if not is_json or type(read) ~= 'table' then return UNREADABLE end
  if are_sound(read) then return read end
  -- A later version may give settings that are known here other values, too.
  local lacks = type(read.needs) == 'table' and not knows_all(read.needs)
  return lacks and {needs = read.needs} or UNREADABLE
end

local function note_settings(topic, text)
  settings_texts[topic] = text
  settings[topic] = text and read_settings(text) or NO_SETTINGS
end

local function settings_of(topic)
  if not settings[topic] then
    local key = topic == '*' and PATTERNS or TOPICS
    if not has(key) then return NO_SETTINGS end
    note_settings(topic, call('HGET', key, topic))
  end
  return settings[topic]
end

-- Reads the settings of many topics at once.
local function fetch_settings(topics)
  if #topics < 2 or not has(TOPICS) then return end
  local texts = call('HMGET', TOPICS, unpack(topics))
  for i = 1, #topics do note_settings(topics[i], texts[i]) end
end

local function settings_text_of(topic) return settings_of(topic) ~= NO_SETTINGS and settings_texts[topic] or '' end

-- The settings that C needs to serve or show a job of the topic. A sibling topic has parts of its owner's, see topic_settings_read_for.
local function serving_text_of(topic) return settings_text_of(owner_of(topic)) end

-- Whether this process knows all that the topic's settings need. Another version may: the topic keeps its turn.
-- rare: settings
local function knows_needs(topic) return knows_all(settings_of(topic).needs or {}) end

-- A setting that all topics may have: the topic's own, else that of all topics.
local function setting_of(topic, name)
  local own = settings_of(topic)[name]
  if own ~= nil then return own end
  return settings_of('*')[name]
end

-- A callback of all topics, as JSON: a url or an object.
local function spell(callback)
  local is_plain = type(callback) == 'string' and not string.find(callback, '"', 1, true)
  return is_plain and '"' .. callback .. '"' or cjson.encode(callback)
end

-- The settings that a consumer needs: with the settings of all topics where it has none of its own.
local function text_for_consumer(topic)
  local own, all, parts = serving_text_of(topic), settings_of('*'), {}
  local settings = settings_of(owner_of(topic))
  if settings == UNREADABLE then return own end
  if all.retention and not settings.retention then parts[1] = string.format('"retention":%.14g', all.retention) end
  for _, name in ipairs(CALLBACKS) do
    if all[name] and not settings[name] then parts[#parts + 1] = '"' .. name .. '":' .. spell(all[name]) end
  end
  if #parts == 0 then return own end
  return '{' .. table.concat(parts, ',') .. (#own <= 2 and '}' or ',' .. string.sub(own, 2))
end

-- Appends topic, settings, ... of those topics that have some.
local function add_settings(replies, topics)
  for i = 1, #topics do
    local text = text_for_consumer(topics[i])
    if text ~= '' then
      replies[#replies + 1] = topics[i]
      replies[#replies + 1] = text
    end
  end
end
