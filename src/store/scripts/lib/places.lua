-- places.lua - the only writer of buckets.
-- uses: bell held topic waiting

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

-- Puts a job back where it was. score: as its claim noted it.
local function put_back(id, score)
  local topic = topic_of(id)
  local list = places[topic]
  if not list then
    list = {}
    places[topic] = list
    touch(topic)
  end
  list[#list + 1] = score
  list[#list + 1] = id
  unhold(topic, {id}) -- it may have been waiting already
end

-- Takes ids of a topic from its bucket; returns how many were there.
local function leave_bucket(topic, ids)
  local number = call('ZREM', bucket_of(topic), unpack(ids))
  waiting_change = waiting_change - number
  unhold(topic, ids)
  return number
end

-- Of jobs that are due in one ms, the one that comes later gets the next of so many places.
local TIES = 2048
local last_scores = {} -- topic -> ms -> the last score there, false: none
local function last_score(topic, ms)
  local known = last_scores[topic]
  if not known then
    known = {}
    last_scores[topic] = known
  end
  if known[ms] == nil then
    local last = call('ZREVRANGEBYSCORE', bucket_of(topic), ms + (TIES - 1) / TIES, ms, 'WITHSCORES', 'LIMIT', '0', '1')[2]
    known[ms] = last and tonumber(last) or false
  end
  return known[ms]
end

local function is_full(topic, ms)
  local last = last_score(topic, ms)
  return last and last >= ms + (TIES - 1) / TIES
end

-- The first ms from this one on that has a place. As full ones follow each other, it is found by doubling and halving.
local function next_ms(topic, ms)
  if not is_full(topic, ms) then return ms end
  local full, free = ms, ms + 1
  while is_full(topic, free) do full, free = free, free + 2 * (free - ms) end
  while free - full > 1 do
    local middle = math.floor((full + free) / 2)
    if is_full(topic, middle) then full = middle else free = middle end
  end
  return free
end

-- Puts a job behind all others that are due in its ms, or a little later when that is full. Returns its ms.
local function put(id, at)
  local topic = topic_of(id)
  local ms = next_ms(topic, tonumber(at))
  local last = last_score(topic, ms)
  local score = last and last + 1 / TIES or ms
  last_scores[topic][ms] = score
  put_back(id, score == ms and integer(ms) or score)
  return ms
end

-- The end of every script that changes places: writes buckets, offers topics, rings, wakes.
local function finish()
  for topic, list in pairs(places) do
    waiting_change = waiting_change + call('ZADD', bucket_of(topic), unpack(list))
  end
  write_waiting()
  write_held()
  for i = 1, #touched do offer(touched[i]) end
  if #touched > 0 then write_offers() end
  write_names()
  if #touched > 0 then ring() end
  wake()
end
