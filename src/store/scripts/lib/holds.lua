-- holds.lua - held jobs: jobs that were due and now wait until an attempt may be sent to their receiver.

local Holds = {uses = {}}

-- ---- held jobs ----

-- The sorted set HELD has each topic with held jobs, with the due time of its longest overdue held job. The sorted set
-- held:<topic> has each held job of a topic, with the time when the job was due. In the bucket (the sorted set of the
-- topic's waiting jobs), the score of a held job is the time until which it is held. When a held job is claimed, the
-- claim returns its original due time.
function Holds.key(topic) return base .. 'held:' .. topic end

-- The topics whose held jobs this call has changed, and the change in the number of all held jobs. Holds.write writes
-- both.
local held_change = 0
Holds.topics = {}
function Holds.add(topic, id, due)
  Holds.topics[topic] = true
  is_there[HELD] = true
  held_change = held_change + call('ZADD', Holds.key(topic), due, id)
end

-- Removes ids from the held jobs of a topic, because they leave its bucket.
function Holds.remove(topic, ids)
  local number = call('ZREM', Holds.key(topic), unpack(ids))
  if number == 0 then return end
  Holds.topics[topic] = true
  held_change = held_change - number
end

-- Returns for each id the time at which its job was due, or false if the job is not held.
function Holds.dues(topic, ids) return has(HELD) and call('ZMSCORE', Holds.key(topic), unpack(ids)) or {} end

-- Writes the changes that this call has collected. Does nothing if there are no changes.
function Holds.write()
  for topic in pairs(Holds.topics) do
    local first = call('ZRANGE', Holds.key(topic), 0, 0, 'WITHSCORES')[2]
    if first then call('ZADD', HELD, first, topic) else call('ZREM', HELD, topic) end
  end
  if held_change ~= 0 then call('HINCRBY', NUMBERS, 'held', held_change) end
end

-- ---- circuit breakers ----

-- A job is held because the circuit breaker of its receiver is open, or because neither the job nor its topic has a
-- url. The key breaker:<receiver> has for each held job its id and the time until which it is held. The script
-- resume.lua reads this key to find the held jobs. A job that is cancelled or leased during its hold keeps its entry
-- here. Each call that adds entries removes those whose hold ended more than GUIDE_MS ago.
local GUIDE_MS = 60000
function Holds.breaker_key(receiver) return base .. 'breaker:' .. receiver end

-- Jobs that are held because neither they nor their topic have a url are stored like those of a receiver with this
-- name. No receiver has such a name, because its host would be empty.
function Holds.no_url_of(topic) return '/' .. topic end

local guides = {} -- receiver -> the entries that this call adds: time, id, time, id ...
function Holds.add_by_breaker(receiver, id, at)
  local guide = guides[receiver] or {}
  guides[receiver] = guide
  guide[#guide + 1] = integer(at)
  guide[#guide + 1] = id
end

-- Writes the entries. A key expires 20 minutes after its last entry was added; a hold lasts at most 10 minutes.
function Holds.write_breakers()
  for receiver, guide in pairs(guides) do
    local key = Holds.breaker_key(receiver)
    call('ZADD', key, unpack(guide))
    call('ZREMRANGEBYSCORE', key, '-inf', '(' .. integer(now - GUIDE_MS))
    call('PEXPIRE', key, '1200000')
  end
end

-- ---- topics that have resumed ----

-- Notes when waiting jobs of a topic were last resumed after a hold or a pause: RESUMED has topic -> time, ms. A job
-- that was due before this time did not wait for duepost: claim.lua returns this time, too, and the time before it does
-- not count as lateness. Entries are kept for RESUMED_KEPT_MS.
local RESUMED_KEPT_MS = 86400000
local resumed = {}
function Holds.note_resumed(topic)
  if resumed[topic] then return end
  resumed[topic] = true
  call('ZADD', RESUMED, integer(now), topic)
  call('ZREMRANGEBYSCORE', RESUMED, '-inf', integer(now - RESUMED_KEPT_MS))
  call('PEXPIRE', RESUMED, integer(RESUMED_KEPT_MS))
  is_there[RESUMED] = true
end

function Holds.begin()
  if next(Holds.topics) then Holds.topics = {} end
  held_change = 0
  if next(guides) then guides = {} end
  if next(resumed) then resumed = {} end
end

return Holds
