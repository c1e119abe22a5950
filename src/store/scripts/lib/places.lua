-- places.lua - the only writer of buckets.
-- uses: bell topic waiting

-- Topics that this call has touched, in order; each is offered once, by finish.
local touched, is_touched = {}, {}
local function touch(topic)
  if not is_touched[topic] then
    is_touched[topic] = true
    touched[#touched + 1] = topic
  end
end

-- New places in buckets: score, id, score, id ... by topic, written by finish.
local places = {}
local function put(id, at)
  local topic = topic_of(id)
  local list = places[topic]
  if not list then
    list = {}
    places[topic] = list
    touch(topic)
  end
  list[#list + 1] = type(at) == 'number' and integer(at) or at
  list[#list + 1] = id
end

-- The end of every script that changes places: writes buckets, offers topics, rings, wakes.
local function finish()
  for topic, list in pairs(places) do
    waiting_change = waiting_change + call('ZADD', bucket_of(topic), unpack(list))
  end
  write_waiting()
  for i = 1, #touched do offer(touched[i]) end
  if #touched > 0 then write_offers() end
  write_names()
  if #touched > 0 then ring() end
  wake()
end
