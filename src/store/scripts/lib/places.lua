-- places.lua - the only writer of buckets. A bucket is the sorted set of a topic's waiting jobs. The score of a job
-- there, its place, is its due time in ms and a fraction for its order within this ms.

local Places = {uses = {Attempts, Expiries, Fifo, Holds, Lanes, Leases, Limits, Names, Quotas, Suspects, Turns, Waited}}

-- ---- number of waiting jobs ----

-- The number of waiting jobs of all topics is stored, because adding up all buckets would take long. waiting_change is
-- by how much this call has changed it. Places.write_number adds this to the stored number at the end of the script.
local waiting_change = 0
function Places.write_number()
  if waiting_change ~= 0 then call('HINCRBY', NUMBERS, 'waiting', waiting_change) end
end

-- ---- touched topics ----

-- Scripts touch each topic whose jobs they change. touched lists the touched topics in order. At the end of a script,
-- Places.finish() offers each touched topic once (turns.lua), except topics whose has_changed is false. extents[topic]
-- is 'left' if the topic's bucket may be empty now, and 'all' if entries of the topic in other keys may be wrong.
local touched, has_changed, extents = {}, {}, {}
function Places.touch(topic, extent)
  if has_changed[topic] == nil then touched[#touched + 1] = topic end
  has_changed[topic] = true
  if extent and extents[topic] ~= 'all' then extents[topic] = extent end
end

-- Touches a topic because fewer of its jobs are in flight (being attempted). If nothing else has changed,
-- Places.finish() offers the topic only if it may have waited because of its limit of jobs in flight.
local FREED, has_freed = 'freed', false
function Places.touch_freed(topic)
  if has_changed[topic] then return end
  if has_changed[topic] == nil then touched[#touched + 1] = topic end
  has_changed[topic], has_freed = FREED, true
end

-- Topics that had no waiting jobs when this call began, and so are in neither "due" nor "turns" (turns.lua).
local had_none = {}

-- Checks with one query whether any of these topics has waiting jobs. If none has, writes all these topics to
-- had_none.
function Places.look_at_buckets(topics)
  local keys, asked = {}, {}
  for i = 1, #topics do
    if not had_none[topics[i]] and not extents[topics[i]] then
      asked[#asked + 1] = topics[i]
      keys[#keys + 1] = bucket_of(topics[i])
    end
  end
  if #keys < 2 or call('EXISTS', unpack(keys)) > 0 then return end
  for i = 1, #asked do had_none[asked[i]] = true end
end

-- ---- places ----

-- topic -> new entries of its bucket: score, id, score, id ...; Places.finish() writes these entries.
Places.new = {}

-- Puts a job back into its bucket, with the score that it had before it was leased or held.
function Places.put_back(id, score, topic)
  topic = topic or topic_of(id)
  local list = Places.new[topic]
  if not list then
    list = {}
    Places.new[topic] = list
    if has_changed[topic] == nil then
      has_changed[topic] = false
      touched[#touched + 1] = topic
    end
  end
  list[#list + 1] = score
  list[#list + 1] = id
  if has(HELD) then Holds.remove(topic, {id}) end -- the job may have been a held job, in the bucket with another score
end

-- Removes ids of a topic from its bucket. Returns how many of the ids were in the bucket.
function Places.leave_bucket(topic, ids)
  local number = call('ZREM', bucket_of(topic), unpack(ids))
  waiting_change = waiting_change - number
  Places.touch(topic, 'left')
  if has(HELD) then Holds.remove(topic, ids) end
  if has_lanes then Lanes.leave(topic, ids) end
  return number
end

-- Removes the first #ids entries of a topic's bucket. ids: their ids. is_all: the bucket has no others, so
-- Places.delete_buckets later deletes the whole key.
local deleted = {}
function Places.leave_front(topic, ids, is_all)
  if is_all then
    deleted[#deleted + 1] = bucket_of(topic)
  else
    call('ZREMRANGEBYRANK', bucket_of(topic), '0', #ids - 1)
  end
  waiting_change = waiting_change - #ids
  if has(HELD) then Holds.remove(topic, ids) end
  if has_lanes then Lanes.leave(topic, ids) end
end

function Places.delete_buckets()
  if #deleted > 0 then call('DEL', unpack(deleted)) end
  deleted = {}
end

-- The highest score in a topic's bucket before the writes of this call; false if the bucket is empty.
local highest_scores = {}
local function highest_score(topic)
  if had_none[topic] then return false end
  if highest_scores[topic] == nil then
    local highest = call('ZRANGE', bucket_of(topic), '-1', '-1', 'WITHSCORES')[2]
    had_none[topic] = not highest and not extents[topic]
    highest_scores[topic] = highest and tonumber(highest) or false
  end
  return highest_scores[topic]
end

-- Jobs that are due in the same ms get scores in the order of their arrival, 1 / TIES apart. So a ms has room for TIES
-- jobs.
local TIES = 2048
local TIE, LAST_TIE = 1 / TIES, (TIES - 1) / TIES -- distance of two scores; distance of a ms's last score from its first
local last_scores = {} -- topic -> ms -> the last score in use there, or false
local function last_score(topic, ms)
  local known = last_scores[topic]
  if not known then
    known = {}
    last_scores[topic] = known
  end
  if known[ms] == nil then
    local highest = highest_score(topic)
    local last = highest and highest >= ms
      and call('ZREVRANGEBYSCORE', bucket_of(topic), ms + LAST_TIE, ms, 'WITHSCORES', 'LIMIT', '0', '1')[2]
    known[ms] = last and tonumber(last) or false
  end
  return known[ms]
end

local function is_full(topic, ms)
  local last = last_score(topic, ms)
  return last and last >= ms + LAST_TIE
end

-- Returns the first millisecond with room for a job after ms, which is full. All full milliseconds after ms follow
-- each other without gaps, so the search doubles its step until it finds a free one, and then bisects.
local function next_ms(topic, ms)
  local full, free = ms, ms + 1
  while is_full(topic, free) do full, free = free, free + 2 * (free - ms) end
  while free - full > 1 do
    local middle = math.floor((full + free) / 2)
    if is_full(topic, middle) then full = middle else free = middle end
  end
  return free
end

-- Puts a job into its bucket, after all others that are due in the same ms. If this ms is full, the job is due in the
-- next ms with room. Returns the ms in which the job is due.
function Places.put(id, at)
  local topic, ms = topic_of(id), tonumber(at)
  local known = last_scores[topic]
  local last = known and known[ms] or last_score(topic, ms)
  if last and last >= ms + LAST_TIE then
    ms = next_ms(topic, ms)
    last = last_score(topic, ms)
  end
  local score = last and last + TIE or ms
  last_scores[topic][ms] = score
  Places.put_back(id, last and score or integer(ms), topic)
  return ms
end

-- Puts a job before all others of its fifo topic, which wait for it, see fifo.lua. Returns the ms in which the job is
-- due.
local function put_head(id, at)
  local topic = topic_of(id)
  local first = call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
  if not first or tonumber(first) > at then return Places.put(id, at) end
  local score = string.format('%.17g', tonumber(first) - TIE)
  Places.put_back(id, score, topic)
  Places.touch(topic)
  Fifo.hold(id, score, at)
  return math.max(at, ms_of(score))
end

-- Puts a job that is new, or was dead, into its bucket. If a fifo topic is paused because its head has died
-- (fifo.lua), and the job has the id of this head, the job is the head again. Returns the ms in which the job is due.
function Places.put_new(id, at)
  local own = has_settings() and settings_of(topic_of(id))
  if own and own.paused and own.order == 'fifo' and own.pauseReason == 'job ' .. string.match(id, '/(.*)$') .. ' is dead' then
    return put_head(id, tonumber(at))
  end
  return Places.put(id, at)
end

-- Writes new entries to a topic's bucket, and touches the topic if its first entry may have changed. The first entry
-- does not change if all ids are new in the bucket, and their scores are higher than all others, or higher than that
-- of a first job that is not due yet. list: score, id, score, id ...; if it has an id several times, the last score
-- counts.
function Places.write(topic, list)
  local number, highest = call('ZADD', bucket_of(topic), unpack(list)), highest_scores[topic]
  local first = tonumber(list[1])
  waiting_change = waiting_change + number
  if Waited.is_used() then Waited.note_moved(list) end
  if has_lanes and Lanes.state(topic) then
    Lanes.put(topic, list)
    Places.touch(topic)
  end
  if has_settings() and settings_of(topic).batch then Places.touch(topic) end -- the batch may be whole now
  for i = 3, #list, 2 do
    local score = tonumber(list[i])
    if score < first then first = score end
  end
  local are_new = 2 * number == #list
  if highest and are_new and first >= highest then return end
  if highest == false or had_none[topic] then Names.add(topic) end
  if had_none[topic] and are_new then
    Turns.first_scores[topic] = first
  else
    local front = call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
    Turns.first_scores[topic] = front
    if are_new and tonumber(front) < first and not is_due(front) then return end
  end
  Places.touch(topic)
end

-- ---- held jobs ----

-- Resumes jobs of a topic. Does nothing for jobs that are no longer held, because they were cancelled, changed or
-- claimed since the walk found them. Returns whether a job was resumed.
local moved = {} -- head of a topic that is no longer fifo -> the time at which Places.finish() will put it
function Places.resume(topic, ids)
  local has_resumed = false
  if #ids == 0 then return false end
  local dues, places_now = Holds.dues(topic, ids), call('ZMSCORE', bucket_of(topic), unpack(ids))
  for i = 1, #ids do
    if dues[i] and places_now[i] and tonumber(dues[i]) <= tonumber(moved[ids[i]] or places_now[i]) then
      Places.put_back(ids[i], dues[i])
      has_resumed = true
    end
    if dues[i] and Fifo.line_of(ids[i]) then
      Fifo.let_go(ids[i], dues[i])
      Places.touch(topic)
    end
  end
  return has_resumed
end

-- If no suspect is attempted or on offer, offers the one that has waited longest (suspects.lua). A job that no longer
-- waits as a suspect leaves the list.
local SUSPECTS_LOOK_MAX = 16
local function offer_suspect()
  local place, score = Suspects.first()
  if place then
    if Suspects.is_attempted(place) or score < 0 and now + score < Suspects.OFFERED_MS and now + score >= 0 then return end
    call('ZREM', SUSPECTS, place)
  end
  local ids = call('ZRANGE', SUSPECTS, '0', SUSPECTS_LOOK_MAX - 1)
  for i = 1, #ids do
    local id = ids[i]
    call('ZREM', SUSPECTS, id)
    if Attempts.losses(id) >= Suspects.LOSSES and call('ZSCORE', bucket_of(topic_of(id)), id) then
      Places.resume(topic_of(id), {id})
      call('ZADD', SUSPECTS, integer(-now), id .. '\n')
      return
    end
  end
end

-- ---- leased jobs ----

-- Removes an id from the leases, or from the waiting jobs of its topic. Returns 'leased' or 'waiting', which says where
-- it was, or nothing if it was in neither.
function Places.take(id)
  local topic = topic_of(id)
  Places.touch(topic)
  if Leases.take(id) then
    call('HDEL', holders_of(topic), id)
    if has_lanes then Lanes.end_attempts(topic, {id}) end
    return 'leased'
  end
  if Places.leave_bucket(topic, {id}) == 1 then return 'waiting' end
end

-- Puts a leased job back into its bucket, for its next attempt. due: the score that the job had there before it was
-- leased. at: the time at which its next attempt may begin, ms; if at is false, the job is due at once, with its old
-- score. In a fifo topic or lane, the job keeps its old score, and all later jobs wait for this job, see fifo.lua.
function Places.put_for_retry(id, due, at)
  local keeps_place = Fifo.line_of(id)
  Expiries.note_again(id)
  -- If at is before the old time, because the clock has stepped back, the job keeps its old time and so is not early.
  if keeps_place or not at or tonumber(due) > at then Places.put_back(id, due) else Places.put(id, at) end
  if keeps_place then Fifo.hold(id, due, at or 0) end
end

-- Removes a topic's entry in LINES if the topic is no longer fifo. The entry (see fifo.lua) names the topic's first job
-- and the time at which its next attempt may begin. This time becomes the job's score in the bucket.
function Places.leave_fifo(topic)
  local at, score, id = Fifo.line(topic)
  if not at or has_settings() and is_fifo(topic) or string.find(topic, '\n', 1, true) then return end -- a lane's: lanes.lua
  local place, held_due = call('ZSCORE', bucket_of(topic), id), Holds.dues(topic, {id})[1]
  if place and tonumber(place) == tonumber(score) and tonumber(at) > ms_of(place) then
    Places.put(id, at)
    moved[id] = at
    if held_due then Holds.add(topic, id, held_due) end
  end
  call('HDEL', LINES, topic)
end

-- ---- end of a script ----

-- Sets has_changed to false for topics that were touched only by Places.touch_freed and have a finite time in "due".
-- Such a topic waits for this time, and not until fewer of its jobs are in flight, so it need not be offered now.
local function drop_freed()
  local topics = {}
  for i = 1, #touched do
    if has_changed[touched[i]] == FREED and not had_none[touched[i]] then topics[#topics + 1] = touched[i] end
  end
  if #topics == 0 then return end
  local times, offered = call('ZMSCORE', DUE, unpack(topics)), {}
  for i = 1, #topics do
    if times[i] and times[i] ~= 'inf' then has_changed[topics[i]] = false else offered[#offered + 1] = topics[i] end
  end
  Turns.look_at_holders(offered, #offered) -- may set Turns.in_flight to 0 for all these topics
end

-- Writes buckets, offers topics, rings the doorbell and wakes the carry worker (turns.lua). Called at the end of each
-- script that changes leases or waiting jobs.
function Places.finish()
  if has_lanes then Lanes.for_each_touched(Places.touch) end
  if has(SUSPECTS) then offer_suspect() end
  Places.look_at_buckets(touched)
  for i = 1, #touched do
    if Places.new[touched[i]] then Places.write(touched[i], Places.new[touched[i]]) end
  end
  Places.write_number()
  Expiries.write()
  if has(HELD) then Holds.write() end
  if has_freed then drop_freed() end
  if #touched > 1 and has_settings() then fetch_settings(touched) end
  if has(LIMITS) or has(LIMITED) then
    for i = 1, #touched do Limits.count(touched[i]) end
  end
  for i = 1, #touched do
    local topic = touched[i]
    if had_none[topic] and not Places.new[topic] then Turns.first_scores[topic] = false end
    if extents[topic] == 'all' then Names.add(topic) end
    if has_changed[topic] then Turns.offer(topic, had_none[topic], not extents[topic]) end
  end
  if #touched > 0 then Turns.write() elseif has_lanes then Lanes.write() end
  if next(Limits.touched) then Turns.let_in() end
  Quotas.write(touched)
  Names.write()
  if Turns.has_added then Turns.ring() end
  Turns.wake()
end

function Places.begin()
  waiting_change, has_freed = 0, false
  if #touched > 0 then touched, has_changed, extents = {}, {}, {} end
  if next(had_none) then had_none = {} end
  if next(Places.new) then Places.new = {} end
  if #deleted > 0 then deleted = {} end
  if next(last_scores) then last_scores, highest_scores = {}, {} end
  if next(moved) then moved = {} end
end

return Places
