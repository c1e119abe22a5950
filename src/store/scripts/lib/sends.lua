-- sends.lua - sends: jobs that were sent to a group. A send has become one job for each endpoint of the group.
--
-- The entry of a send has the names of the group's endpoints at the time of the send. So the jobs of the send can be
-- found and cancelled together even after the group has changed. The entry exists as long as one of these jobs has not
-- ended, and some time longer. When a job of a send has ended, a later job may get the same id. This later job does not
-- count as a job of the send: createdAt must match.

local Sends = {uses = {Expiries, Lanes, Leases, Places, Records, Stream}}

-- Returns mark, group, list of endpoints and time of the send with this id, or nothing if no entry exists. The time is
-- a text, or nil.
function Sends.read(id)
  local entry, time = string.match(call('HGET', SENDS, id) or '', '^([^@]*)@?(%d*)$')
  local words = {}
  for word in string.gmatch(entry or '', '%S+') do words[#words + 1] = word end
  if #words > 2 then return words[1], words[2], {unpack(words, 3)}, time ~= '' and time or nil end
end

function Sends.job(id, endpoint) return id .. '~' .. endpoint end

function Sends.was_created(record, time) return not time or Records.created(record) == tonumber(time) end

-- Returns whether a job with this id has not ended and was created at this time, which is that of a send. If time is
-- nil, the time does not matter.
function Sends.is_of_send(id, time)
  if not time then return call('HEXISTS', JOBS, id) == 1 end
  local record = call('HGET', JOBS, id)
  if not record then return false end
  Records.bytes_left = Records.bytes_left - #record
  return Sends.was_created(record, time)
end

-- Returns the id of the first job of a send that has not ended, or nothing. id, endpoints and time: those of the send.
function Sends.first_left(id, endpoints, time)
  for i = 1, #endpoints do
    if Sends.is_of_send(Sends.job(id, endpoints[i]), time) then return Sends.job(id, endpoints[i]) end
  end
end

-- Adds the entry of a send. time: a text, or nil.
function Sends.note(id, mark, group, endpoints, time)
  local entry = mark .. ' ' .. group .. ' ' .. table.concat(endpoints, ' ')
  call('HSET', SENDS, id, time and entry .. ' @' .. time or entry)
end

function Sends.drop(id)
  call('HDEL', SENDS, id)
  call('ZREM', SENDS_UNTIL, id)
end

-- ---- new sends ----

local SENDS_MAX, SENT_MIN_MS, SENT_MAX_MS = 1000000, 60000, 86400000
function Sends.has_room() return call('HLEN', SENDS) < SENDS_MAX end

-- Schedules a job for each endpoint, and adds the send to SENDS. The caller has checked that the ids of these jobs are
-- free. Returns the due times of the jobs.
function Sends.put(id, when, mark, group, endpoints, records)
  local due, created = Records.due_of(when)
  local times = {}
  for i = 1, #endpoints do
    local job = Sends.job(id, endpoints[i])
    local text, expires = Records.complete(created, records[i])
    call('HSET', JOBS, job, text)
    Expiries.note(job, expires)
    Lanes.note_new(job, records[i])
    Stream.add(topic_of(job), job, 'accepted')
    times[i] = Places.put_new(job, due)
  end
  Sends.note(id, mark, group, endpoints, integer(created))
  call('ZADD', SENDS_UNTIL, integer(now + math.max(SENT_MIN_MS, math.min(SENT_MAX_MS, due - now + SENT_MIN_MS))), id)
  return times
end

-- Reads endpoint, record, endpoint, record ... from ARGV[first] on. number: how many endpoints.
function Sends.read_jobs(first, number)
  local endpoints, records = {}, {}
  for i = 1, number do
    endpoints[i], records[i] = ARGV[first + 2 * i - 2], ARGV[first + 2 * i - 1]
    if not string.match(endpoints[i] or '', '^[%w._-]+$') or not records[i] then error('not an endpoint') end
  end
  return endpoints, records
end

-- Reads the sends from ARGV[at] on. Each send has the arguments id, when, a condition, mark, group, the number of
-- endpoints, and then an endpoint and a record for each of them. The third argument has another meaning in each
-- script; it becomes the field of the send that the parameter condition names. Ends the script with an error if a
-- send has another form, or fewer endpoints than fewest. Must be called before the first write.
function Sends.read_arguments(at, condition, fewest)
  local sends = {}
  while at <= #ARGV do
    local send = {id = ARGV[at], when = ARGV[at + 1], [condition] = ARGV[at + 2], mark = ARGV[at + 3], group = ARGV[at + 4]}
    local number = tonumber(string.match(ARGV[at + 5] or '', '^%d+$'))
    if not number or number < fewest or at + 5 + 2 * number > #ARGV then error('wrong number of arguments') end
    if not string.match(send.id, '^[^/]+/.') then error('not an id') end
    if not string.match(send.when, '^@?%d+$') then error('not a number') end
    if not string.match(send.mark .. ' ' .. send.group, '^%S+ %S+$') then error('not a mark and a group') end
    send.endpoints, send.records = Sends.read_jobs(at + 6, number)
    sends[#sends + 1] = send
    at = at + 6 + 2 * number
  end
  return sends
end

function Sends.topics(sends)
  local topics, is_known = {}, {}
  for i = 1, #sends do
    local topic = topic_of(sends[i].id)
    if not is_known[topic] then topics[#topics + 1] = topic end
    is_known[topic] = true
  end
  return topics
end

-- ---- states of the jobs ----

Sends.placed = {} -- id of a job that this call has scheduled, but not written to the waiting jobs yet -> due, ms

-- Returns the state of a job and a time: when it is due, when its lease ends, or when it ended. The state 'ended' means
-- that the job has ended and its data was removed. sent_at: the time of the send.
local function state_of(id, sent_at)
  if Sends.is_of_send(id, sent_at) then
    local state, score = Leases.locate(id)
    -- an id in neither the leases nor the waiting jobs (lost data): the janitor will make the job ready
    score = tonumber(score) or Sends.placed[id] or now
    return state or (score > now and 'delayed' or 'ready'), score
  end
  for _, state in ipairs({'dead', 'delivered', 'cancelled'}) do
    local at = call('ZSCORE', index_of(state, topic_of(id)), id)
    if at then return state, tonumber(at) end
  end
  return 'ended', 0
end

-- Appends endpoint, state, time for each job of a send to a list. sent_at: the time of the send.
function Sends.add_states(list, id, endpoints, sent_at)
  for i = 1, #endpoints do
    list[#list + 1] = endpoints[i]
    list[#list + 1], list[#list + 2] = state_of(Sends.job(id, endpoints[i]), sent_at)
  end
  return list
end

function Sends.begin()
  if next(Sends.placed) then Sends.placed = {} end
end

return Sends
