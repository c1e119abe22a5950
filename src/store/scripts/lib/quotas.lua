-- quotas.lua - the quota of a topic, or of a key of a topic: the maximum number of its jobs that wait or are in flight (the
-- setting maxPending).
--
-- A sibling topic (orders~callbacks) has the quota of its owner topic (orders), for its own jobs. Scripts that schedule
-- new jobs for clients check the quota. Jobs that follow from other jobs, such as callbacks and the steps of workflows,
-- count, but are never refused.
--
local QUOTAS
-- QUOTAS has topics with a quota and jobs -> number of these jobs, to find the largest ones. It is an index for metrics:
-- a script that changes the jobs of such a topic writes its number. So an entry may be wrong only after a change of
-- settings; topics.lua counts again, and leaves out topics without a quota.

local Quotas = {uses = {Lanes, Ranks, Turns}}

-- Returns the quota of a topic, or nothing.
function Quotas.of(topic) return has_settings() and settings_of(owner_of(topic)).maxPending or nil end

-- Returns how many jobs of a topic wait or are in flight. An attempt that still runs after its job was cancelled or
-- replaced counts, too (lingering.lua).
function Quotas.pending(topic) return call('ZCARD', bucket_of(topic)) + call('HLEN', holders_of(topic)) end

-- ---- new jobs ----

-- topic, or name of a lane (lanes.lua) -> how many more jobs its quota allows; nil without a quota
local rooms = {}
local may_have_keys -- whether keys of the topics of this call may have quotas

-- Returns the name of the lane of a new job, if its key has a quota, and the key.
function Quotas.lane_of_new(topic, record)
  if not record or not may_have_keys then return end
  local rank = Ranks.in_record(record)
  local key = rank and Ranks.key_in(rank) or ''
  local name = Lanes.name(topic, key)
  if not settings_of(name).maxPending then return end
  if not rooms[name] then rooms[name] = settings_of(name).maxPending - (Lanes.read(topic, key)) end
  return name, key
end

-- Counts the jobs of the topics that have a quota. Must be called for the topics of all new jobs before the first
-- write. Returns whether any of the jobs may be refused because of a quota.
function Quotas.look(topics)
  may_have_keys = has_lanes
  if not has_settings() then return may_have_keys end
  fetch_settings(topics)
  for i = 1, #topics do
    local max = Quotas.of(topics[i])
    if max then rooms[topics[i]] = max - Quotas.pending(topics[i]) end
    may_have_keys = may_have_keys or settings_of(topics[i]).perKey
  end
  return may_have_keys or next(rooms) ~= nil
end

-- Returns how long a client should wait before it sends a refused job again, ms. A place becomes free when a job ends.
-- If no job is in flight, none ends before the first waiting job may be attempted.
local WAIT_MIN_MS, WAIT_MAX_MS = 1000, 60000
local function wait_of(topic)
  if settings_of(topic).paused then return WAIT_MAX_MS end
  local first = call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
  if not first or call('EXISTS', holders_of(topic)) == 1 then return WAIT_MIN_MS end
  local at = ms_of(first)
  if at <= now then at = tonumber(Turns.held_until(topic, at) or 0) end
  if at == math.huge then at = 0 end -- no time is known at which a worker leases a job of a pull topic
  return math.max(WAIT_MIN_MS, math.min(WAIT_MAX_MS, at - now))
end

-- Returns a result that refuses new jobs: {'quota', topic, maximum, jobs now, ms until the next try, and the key if it is the
-- quota of a key}. name: of the topic or the lane.
local waits = {}
local function refuse(topic, max, name, key)
  if not waits[topic] then waits[topic] = wait_of(topic) end
  return {'quota', topic, max, max - rooms[name], waits[topic], key}
end

-- Returns a result that refuses this number of new jobs because of the quota of their key, or nothing. record: that of one of
-- the jobs, which all have the same key.
function Quotas.refusal_of_key(topic, number, record)
  local name, key = Quotas.lane_of_new(topic, record)
  if name and rooms[name] < number then return refuse(topic, settings_of(name).maxPending, name, key) end
end

-- Does the same for the quota of the topic, too. Without a record, for this quota alone.
function Quotas.refusal(topic, number, record)
  if rooms[topic] and rooms[topic] < number then return refuse(topic, Quotas.of(topic), topic) end
  if may_have_keys then return Quotas.refusal_of_key(topic, number, record) end
end

-- Notes that this number of new jobs is scheduled.
function Quotas.take_of_key(topic, number, record)
  local name = Quotas.lane_of_new(topic, record)
  if name then rooms[name] = rooms[name] - number end
end

function Quotas.take(topic, number, record)
  if rooms[topic] then rooms[topic] = rooms[topic] - number end
  if may_have_keys then Quotas.take_of_key(topic, number, record) end
end

-- ---- index ----

-- Writes the numbers of jobs of the topics whose jobs this call may have changed or counted. Called at the end of a
-- script. It does not ask whether the index exists: the settings of these topics have mostly been read already.
function Quotas.write(touched)
  if not has_settings() then return end
  local written, removed, is_known = {}, {}, {}
  local function add(topic)
    local number = not is_known[topic] and Quotas.of(topic) and Quotas.pending(topic)
    is_known[topic] = true
    if number == 0 then removed[#removed + 1] = topic end
    if number and number > 0 then
      written[#written + 1] = number
      written[#written + 1] = topic
    end
  end
  for i = 1, #touched do add(touched[i]) end
  for name in pairs(rooms) do
    if not string.find(name, '\n', 1, true) then add(name) end
  end
  if #written > 0 then call('ZADD', QUOTAS, unpack(written)) end
  if #removed > 0 then call('ZREM', QUOTAS, unpack(removed)) end
end

-- Empties the index after a change of settings that may have removed a quota. The next change of a topic's jobs writes
-- its entry again.
function Quotas.forget() call('DEL', QUOTAS) end

-- Returns the topics that had the most jobs (maximum: most).
function Quotas.largest(most)
  local names = {}
  for _, topic in ipairs(has_settings() and call('ZRANGE', QUOTAS, 0, 2 * most - 1, 'REV') or {}) do
    if #names < most and Quotas.of(topic) then names[#names + 1] = topic end
  end
  return names
end

function Quotas.begin()
  QUOTAS = base .. 'quotas'
  if next(rooms) then rooms = {} end
  if next(waits) then waits = {} end
  may_have_keys = nil
end

return Quotas
