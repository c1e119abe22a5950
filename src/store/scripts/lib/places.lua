-- places.lua - the only writer of buckets. A bucket is the sorted set of a topic's waiting jobs. The score of a job
-- there, its place, is its due time in ms and a fraction for its order within this ms.
-- uses: bell expiries held line suspects topic waiting

-- Scripts touch each topic whose jobs they change. touched lists the touched topics in order. At the end of a script,
-- finish() offers each touched topic once (offer.lua), except topics whose has_changed is false. extents[topic] is
-- 'left' if the topic's bucket may be empty now, and 'all' if entries of the topic in other keys may be wrong.
local touched, has_changed, extents = {}, {}, {}
local function touch(topic, extent)
  if has_changed[topic] == nil then touched[#touched + 1] = topic end
  has_changed[topic] = true
  if extent and extents[topic] ~= 'all' then extents[topic] = extent end
end

-- Touches a topic because fewer of its jobs are in flight (being attempted). If nothing else has changed, finish()
-- offers the topic only if it may have waited because of its limit of jobs in flight.
local FREED, has_freed = 'freed', false
local function touch_freed(topic)
  if has_changed[topic] then return end
  if has_changed[topic] == nil then touched[#touched + 1] = topic end
  has_changed[topic], has_freed = FREED, true
end

-- Topics that had no waiting jobs when this call began, and so are in neither "due" nor "turns" (offer.lua).
local had_none = {}

-- Checks with one query whether any of these topics has waiting jobs. If none has, writes all these topics to
-- had_none.
local function look_at_buckets(topics)
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

-- topic -> new entries of its bucket: score, id, score, id ...; finish() writes these entries.
local places = {}

-- Puts a job back into its bucket, with the score that it had before it was leased or held.
local function put_back(id, score, topic)
  topic = topic or topic_of(id)
  local list = places[topic]
  if not list then
    list = {}
    places[topic] = list
    if has_changed[topic] == nil then
      has_changed[topic] = false
      touched[#touched + 1] = topic
    end
  end
  list[#list + 1] = score
  list[#list + 1] = id
  if has(HELD) then unhold(topic, {id}) end -- the job may have been a held job, in the bucket with another score
end

-- Removes ids of a topic from its bucket. Returns how many of the ids were in the bucket.
local function leave_bucket(topic, ids)
  local number = call('ZREM', bucket_of(topic), unpack(ids))
  waiting_change = waiting_change - number
  touch(topic, 'left')
  if has(HELD) then unhold(topic, ids) end
  return number
end

-- Removes the first #ids entries of a topic's bucket. ids: their ids. is_all: the bucket has no others, so
-- delete_buckets later deletes the whole key.
local deleted = {}
local function leave_front(topic, ids, is_all)
  if is_all then
    deleted[#deleted + 1] = bucket_of(topic)
  else
    call('ZREMRANGEBYRANK', bucket_of(topic), '0', #ids - 1)
  end
  waiting_change = waiting_change - #ids
  if has(HELD) then unhold(topic, ids) end
end

local function delete_buckets()
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

-- rare: ties
local function is_full(topic, ms)
  local last = last_score(topic, ms)
  return last and last >= ms + LAST_TIE
end

-- Returns the first millisecond with room for a job after ms, which is full. All full milliseconds after ms follow
-- each other without gaps, so the search doubles its step until it finds a free one, and then bisects.
-- rare: ties
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
local function put(id, at)
  local topic, ms = topic_of(id), tonumber(at)
  local known = last_scores[topic]
  local last = known and known[ms] or last_score(topic, ms)
  if last and last >= ms + LAST_TIE then
    ms = next_ms(topic, ms)
    last = last_score(topic, ms)
  end
  local score = last and last + TIE or ms
  last_scores[topic][ms] = score
  put_back(id, last and score or integer(ms), topic)
  return ms
end

-- Puts a job before all others of its fifo topic, which wait for it, see line.lua. Returns the ms in which the job is
-- due.
-- rare: head
local function put_head(id, at)
  local topic = topic_of(id)
  local first = call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
  if not first or tonumber(first) > at then return put(id, at) end
  local score = string.format('%.17g', tonumber(first) - TIE)
  put_back(id, score, topic)
  touch(topic)
  hold_line(id, score, at)
  return math.max(at, ms_of(score))
end

-- Puts a job that is new, or was dead, into its bucket. If a fifo topic is paused because its head has died
-- (pause.lua), and the job has the id of this head, the job is the head again. Returns the ms in which the job is due.
local function put_new(id, at)
  local own = has_settings() and settings_of(topic_of(id))
  if own and own.paused and own.order == 'fifo' and own.pauseReason == 'job ' .. string.match(id, '/(.*)$') .. ' is dead' then
    return put_head(id, tonumber(at))
  end
  return put(id, at)
end

-- Writes new entries to a topic's bucket, and touches the topic if its first entry may have changed. The first entry
-- does not change if all ids are new in the bucket, and their scores are higher than all others, or higher than that
-- of a first job that is not due yet. list: score, id, score, id ...; if it has an id several times, the last score
-- counts.
local function write_places(topic, list)
  local number, highest = call('ZADD', bucket_of(topic), unpack(list)), highest_scores[topic]
  local first = tonumber(list[1])
  waiting_change = waiting_change + number
  for i = 3, #list, 2 do
    local score = tonumber(list[i])
    if score < first then first = score end
  end
  local are_new = 2 * number == #list
  if highest and are_new and first >= highest then return end
  if highest == false or had_none[topic] then add_name(topic) end
  if had_none[topic] and are_new then
    first_scores[topic] = first
  else
    local front = call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
    first_scores[topic] = front
    if are_new and tonumber(front) < first and not is_due(front) then return end
  end
  touch(topic)
end

-- Resumes jobs of a topic. Does nothing for jobs that are no longer held, because they were cancelled, changed or
-- claimed since the walk found them. Returns whether a job was resumed.
local function resume_jobs(topic, ids)
  local has_resumed = false
  if #ids == 0 then return false end
  local dues, places_now = held_dues(topic, ids), call('ZMSCORE', bucket_of(topic), unpack(ids))
  for i = 1, #ids do
    if dues[i] and places_now[i] and tonumber(dues[i]) <= tonumber(places_now[i]) then
      put_back(ids[i], dues[i])
      has_resumed = true
    end
    if dues[i] and has_settings() and is_fifo(topic) then
      let_go(ids[i], dues[i])
      touch(topic)
    end
  end
  return has_resumed
end

-- If no suspect is attempted or on offer, offers the one that has waited longest (suspects.lua). A job that no longer
-- waits as a suspect leaves the list.
local SUSPECTS_LOOK_MAX = 16
-- rare: suspects
local function offer_suspect()
  local place, score = suspect_ahead()
  if place then
    if is_attempted(place) or score < 0 and now + score < OFFERED_MS and now + score >= 0 then return end
    call('ZREM', SUSPECTS, place)
  end
  local ids = call('ZRANGE', SUSPECTS, '0', SUSPECTS_LOOK_MAX - 1)
  for i = 1, #ids do
    local id = ids[i]
    call('ZREM', SUSPECTS, id)
    if losses_of(id) >= SUSPECT_LOSSES and call('ZSCORE', bucket_of(topic_of(id)), id) then
      resume_jobs(topic_of(id), {id})
      call('ZADD', SUSPECTS, integer(-now), id .. '\n')
      return
    end
  end
end

-- Sets has_changed to false for topics that were touched only by touch_freed and have a finite time in "due". Such a
-- topic waits for this time, and not until fewer of its jobs are in flight, so it need not be offered now.
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
  look_at_holders(offered, #offered) -- may set in_flight to 0 for all these topics
end

-- Writes buckets, offers topics, rings the doorbell (bell.lua) and wakes the carry worker (calendar.lua). Called at the
-- end of each script that changes leases or waiting jobs.
local function finish()
  if has(SUSPECTS) then offer_suspect() end
  look_at_buckets(touched)
  for i = 1, #touched do
    if places[touched[i]] then write_places(touched[i], places[touched[i]]) end
  end
  write_waiting()
  write_expiries()
  if has(HELD) then write_held() end
  if has_freed then drop_freed() end
  if #touched > 1 and has_settings() then fetch_settings(touched) end
  for i = 1, #touched do
    local topic = touched[i]
    if had_none[topic] and not places[topic] then first_scores[topic] = false end
    if extents[topic] == 'all' then add_name(topic) end
    if has_changed[topic] then offer(topic, had_none[topic], not extents[topic]) end
  end
  if #touched > 0 then write_offers() end
  write_names()
  if #turns_added > 0 then ring() end
  wake()
end
