-- topic.lua - the topic of an id, and the owner of a sibling topic.

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
