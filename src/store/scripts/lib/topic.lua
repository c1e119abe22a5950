-- topic.lua - the topic of an id.

-- Each id is asked for its topic several times, and a pattern costs more than a table.
local topics_of = {}
local function topic_of(id)
  local topic = topics_of[id]
  if not topic then
    topic = string.match(id, '^[^/]*')
    topics_of[id] = topic
  end
  return topic
end
