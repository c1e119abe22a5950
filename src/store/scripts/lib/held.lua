-- held.lua - held jobs: jobs that were due and now wait until an attempt may be sent to their receiver.
-- uses: has waiting

-- The HELD key has for each topic the time when its first held job was due. The key held:<topic> has for each
-- id the time when the job was due; the job's score in its bucket is the time until which it is held. When a held job
-- is claimed, the claim returns the time when it was due.
local function held_of(topic) return base .. 'held:' .. topic end

-- Topics whose held jobs this call has changed, and by how much it has changed the number of all held jobs. write_held
-- writes both.
local held_topics, held_change = {}, 0
-- rare: held
local function hold(topic, id, due)
  held_topics[topic] = true
  is_there[HELD] = true
  held_change = held_change + call('ZADD', held_of(topic), due, id)
end

-- Removes the holds of ids that leave their bucket.
-- rare: held
local function unhold(topic, ids)
  local number = call('ZREM', held_of(topic), unpack(ids))
  if number == 0 then return end
  held_topics[topic] = true
  held_change = held_change - number
end

-- Returns the times at which these ids were due, in their order; false for ids that are not held.
-- rare: held
local function held_dues(topic, ids) return has(HELD) and call('ZMSCORE', held_of(topic), unpack(ids)) or {} end

-- Writes the changes of holds that this call has made. Does nothing if no job is held.
-- rare: held
local function write_held()
  for topic in pairs(held_topics) do
    local first = call('ZRANGE', held_of(topic), 0, 0, 'WITHSCORES')[2]
    if first then call('ZADD', HELD, first, topic) else call('ZREM', HELD, topic) end
  end
  if held_change ~= 0 then call('HINCRBY', NUMBERS, 'held', held_change) end
end
