-- pause.lua - pauses fifo topics whose first job has died.
-- uses: settings topic

-- Pauses the topic of a job that has died, if the topic's setting onHeadDead is 'pause'. C writes the settings as JSON
-- in which paused and pauseReason are the first members; this function writes the same form.
-- rare: pause
local function pause_after(id)
  local topic = topic_of(id)
  local own = settings_of(topic)
  if own.paused or own.onHeadDead ~= 'pause' then return end
  local rest = string.gsub(settings_texts[topic] or '{}', '^{"paused":false,?', '{')
  local job_id = string.gsub(string.sub(id, #topic + 2), '[\\"]', '\\%0')
  local text = '{"paused":true,"pauseReason":"job ' .. job_id .. ' is dead"' .. (rest == '{}' and '' or ',') .. string.sub(rest, 2)
  call('HSET', TOPICS, topic, text)
  note_settings_key(TOPICS, true)
  note_settings(topic, text)
end
