-- settings.lua - what operators have set for topics.
-- uses: has

local TOPICS = base .. 'topics' -- topic -> settings

-- What operators have set for a topic: JSON as topic_settings.c wrote it.
local settings_texts, settings = {}, {}
local NO_SETTINGS = {}
local function settings_of(topic)
  if not has(TOPICS) then return NO_SETTINGS end
  if not settings[topic] then
    settings_texts[topic] = call('HGET', TOPICS, topic)
    settings[topic] = settings_texts[topic] and cjson.decode(settings_texts[topic]) or NO_SETTINGS
  end
  return settings[topic]
end

local function settings_text_of(topic) return settings_of(topic) ~= NO_SETTINGS and settings_texts[topic] or '' end
