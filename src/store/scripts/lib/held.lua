-- held.lua - held jobs: jobs that were due and now wait until an attempt may be sent to their receiver.
-- uses: has waiting

-- The sorted set HELD has each topic with held jobs, with the due time of its longest overdue held job. The sorted set
-- held:<topic> has each held job of a topic, with the time when the job was due. In the bucket (the sorted set of the
-- topic's waiting jobs), the score of a held job is the time until which it is held. When a held job is claimed, the
-- claim returns its original due time.
local function held_of(topic) return base .. 'held:' .. topic end

-- The topics whose held jobs this call has changed, and the change in the number of all held jobs. write_held writes
-- both.
local held_topics, held_change = {}, 0
-- rare: held
local function hold(topic, id, due)
  held_topics[topic] = true
  is_there[HELD] = true
  held_change = held_change + call('ZADD', held_of(topic), due, id)
end

-- Removes ids from the held jobs of a topic, because they leave its bucket.
-- rare: held
local function unhold(topic, ids)
  local number = call('ZREM', held_of(topic), unpack(ids))
  if number == 0 then return end
  held_topics[topic] = true
  held_change = held_change - number
end

-- Returns for each id the time at which its job was due, or false if the job is not held.
-- rare: held
local function held_dues(topic, ids) return has(HELD) and call('ZMSCORE', held_of(topic), unpack(ids)) or {} end

-- Writes the changes that this call has collected. Does nothing if there are no changes.
-- rare: held
local function write_held()
  for topic in pairs(held_topics) do
    local first = call('ZRANGE', held_of(topic), 0, 0, 'WITHSCORES')[2]
    if first then call('ZADD', HELD, first, topic) else call('ZREM', HELD, topic) end
  end
  if held_change ~= 0 then call('HINCRBY', NUMBERS, 'held', held_change) end
end
