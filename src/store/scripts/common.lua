-- common.lua - in front of every script: names of keys, the time, and the only writers of buckets
-- (put, through finish), of turns and due (offer), and of the doorbell (ring).
--
-- KEYS[1] is <prefix>{<shard>}:jobs; all other keys share its hash tag and are derived from it.
-- ARGV[1] is the most jobs of one topic that may be in flight at once, over all processes, unless its
-- settings say otherwise.
-- Redis does not roll back: a script checks the shapes of all items before anything (check), and each
-- item completely before it writes for it.
local call = redis.call
local JOBS = KEYS[1]
local base = string.sub(JOBS, 1, -5)
local DUE, TURNS, READY = base .. 'due', base .. 'turns', base .. 'ready'
local LEASES, CRASHES, DEAD = base .. 'leases', base .. 'crashes', base .. 'dead'
local ATTEMPTS = base .. 'attempts' -- id -> lines, see attempt_line.h
local KEPT, KEPT_UNTIL = base .. 'kept', base .. 'kept_until' -- id -> see keep_job; id -> until when, ms
local IDEMPOTENCY, WINDOWS = base .. 'idempotency', base .. 'windows' -- key -> its answer; key -> expiry, ms
local TOPICS, RATES = base .. 'topics', base .. 'rates' -- topic -> settings; topic -> see tokens_of
local MAX_IN_FLIGHT = tonumber(ARGV[1])

-- One reading of the clock a script. A job is due when now has reached its time, in whole ms; what
-- counts from now on counts from soonest, the next whole ms, so that nothing is early by a fraction.
local clock = call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)
local soonest = math.ceil(now_us / 1000)

local function bucket_of(topic) return base .. 'bucket:' .. topic end
local function holders_of(topic) return base .. 'holders:' .. topic end

-- Each id is asked for its topic several times, and a pattern costs more than a table.
local topics_of = {}
local function topic_of(id)
  local topic = topics_of[id]
  if not topic then
    topic = string.match(id, '^[^/]+')
    topics_of[id] = topic
  end
  return topic
end

-- Lua's own number to text keeps 14 digits only.
local function integer(number) return string.format('%.0f', number) end

-- Redis's order of ids and names. Lua's own < compares by the locale that Redis was started in. Names often begin
-- alike: what is the same in both is passed by several bytes at a time.
local byte, sub = string.byte, string.sub
local function precedes(a, b)
  local from, shorter = 1, math.min(#a, #b)
  while from + 15 <= shorter and sub(a, from, from + 15) == sub(b, from, from + 15) do from = from + 16 end
  while from + 3 <= shorter and sub(a, from, from + 3) == sub(b, from, from + 3) do from = from + 4 end
  for i = from, shorter do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Every script that writes begins with this, for a slot of a Cluster that is on the move. There a script may
-- still use the keys that have not moved, and fails at the first one that is not there: perhaps between two
-- of its writes, and also at a key that its own last write emptied. So it asks for one that never is: on a
-- slot on the move that fails for sure, and here nothing has been written yet.
local function probe() call('EXISTS', base .. 'never') end

-- Whether there is anything in a key that most pools do not have, asked once a call.
local is_there = {}
local function has(key)
  if is_there[key] == nil then is_there[key] = call('EXISTS', key) == 1 end
  return is_there[key]
end

-- Refuses the call, before it writes anything, when its items, each size arguments long, from ARGV[first]
-- on, are not of that shape. number: where in the item a number stands, perhaps behind an '@'.
local function check(first, size, number)
  if (#ARGV - first + 1) % size ~= 0 then error('wrong number of arguments') end
  for i = first, #ARGV, size do
    local topic = string.match(ARGV[i], '^([^/]+)/.')
    if not topic then error('not an id') end
    topics_of[ARGV[i]] = topic
    if number and not string.match(ARGV[i + number - 1], '^@?-?%d+$') then error('not a number') end
  end
  probe()
end

-- Where an id is, and its score there; nothing when it is nowhere.
local function locate(id)
  local score = call('ZSCORE', LEASES, id)
  if score then return 'leased', score end
  score = call('ZSCORE', bucket_of(topic_of(id)), id)
  if score then return tonumber(score) > now and 'delayed' or 'ready', score end
  score = call('ZSCORE', DEAD, id)
  if score then return 'dead', score end
end

-- How often the consumer of a job was lost since its last outcome.
local function losses_of(id)
  local crash = call('HGET', CRASHES, id)
  return crash and tonumber(string.match(crash, '^%d+')) or 0
end

-- What one call reads of records, so that it does not take long; the first of them it may.
local record_bytes_left = 4 * 1024 * 1024
local function has_read_enough() return record_bytes_left <= 0 end

-- The record of a job, for the answer to an item, or to look at; nothing when this call has read enough.
local function answer_record(id)
  if has_read_enough() then return end
  local record = call('HGET', JOBS, id)
  record_bytes_left = record_bytes_left - #record
  return record
end

-- Names a job as it is, for who wants to change it only if it is still so (store_job_tag in C does the same): its
-- state, its place, except in a lease that is renewed all the time, and its record.
local function tag_of(id, record)
  local state, score = locate(id)
  if not state or state == 'leased' then score = 0 end
  return redis.sha1hex(table.concat({state or 'nowhere', integer(tonumber(score)), record}, ' '))
end

-- Whether a job is as whoever asks saw it: tags is empty when they don't mind, '*' for any that is there, else one
-- tag or several. Nothing: ask again, in another call.
local function is_as_seen(id, tags)
  if tags == '' then return true end
  if call('HEXISTS', JOBS, id) == 0 then return false end
  if tags == '*' then return true end
  local record = answer_record(id)
  if record then return string.find(tags, tag_of(id, record), 1, true) ~= nil end
end

-- When a job is due that comes now, as number and text, and the time from which that counts. when: ms from now, or
-- '@' and a time. Lua is slow at making text of a number, so that is done once a call where it can be.
local now_text
local function due_of(when)
  if when == '0' then -- at once, and ready: that needs no carry worker
    now_text = now_text or integer(now)
    return now, now_text, now
  end
  if string.sub(when, 1, 1) ~= '@' then
    local at = soonest + tonumber(when)
    return at, integer(at), soonest
  end
  local text = string.sub(when, 2)
  local at = tonumber(text)
  if at < now then return now, integer(now), now end
  return at, text, now
end

-- How the record of a job begins that is created then; what follows, C writes.
local openings = {}
local function opening_of(created)
  local opening = openings[created]
  if not opening then
    opening = '{"createdAt":' .. integer(created) .. ','
    openings[created] = opening
  end
  return opening
end

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

-- The carry worker sleeps until the first time in due, whichever script moves that forward.
local first_before, first_after
local function note_due(at)
  first_before = first_before or tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2] or 'inf')
  if not first_after or tonumber(at) < tonumber(first_after) then first_after = at end
end

local function wake()
  if first_after and tonumber(first_after) < first_before then call('PUBLISH', base .. 'wake', first_after) end
end

-- What operators have set for a topic: JSON as topic_settings.c wrote it.
local settings_texts, settings = {}, {}
local NO_SETTINGS = {}
local function settings_of(topic)
  if not has(TOPICS) then return NO_SETTINGS end
  if not settings[topic] then
    settings_texts[topic] = call('HGET', TOPICS, topic)
    settings[topic] = settings_texts[topic] and cjson.decode(settings_texts[topic]) or NO_SETTINGS
  end
  return settings[topic]
end

local function settings_text_of(topic) return settings_of(topic) ~= NO_SETTINGS and settings_texts[topic] or '' end

-- A job that brings no url needs a topic that has one. What schedules or changes it says so with this.
local NO_URL = -5
local function lacks_url(id, record) return string.find(record, '^[^u]-"url":""') and not settings_of(topic_of(id)).url end

local function limit_of(topic) return settings_of(topic).maxInFlight or MAX_IN_FLIGHT end

-- A topic's rate: us from one attempt to the next, us that may be spent ahead, and the time, us, up to which
-- it is spent. Before now nothing is left over; later than ahead allows, the clock must have stepped back.
local function rate_of(topic)
  local rate = settings_of(topic).rate
  if not rate then return end
  local step = math.ceil(rate.per * 1000000 / rate.jobs)
  local ahead = rate.burst * step
  local spent = tonumber(call('HGET', RATES, topic)) or 0
  return step, ahead, math.max(now_us, math.min(spent, now_us + ahead))
end

-- How many attempts may begin now by the rate, and when the next one may, ms.
local function tokens_of(topic)
  local step, ahead, spent = rate_of(topic)
  if not step then return math.huge end
  return math.floor((now_us + ahead - spent) / step), math.ceil((spent + step - ahead) / 1000)
end

local function spend_tokens(topic, number)
  local step, _, spent = rate_of(topic)
  if step and number > 0 then call('HSET', RATES, topic, integer(spent + number * step)) end
end

-- Of one claim, at since, ms, so many attempts have not begun. What the time since then has let through already, for the
-- first of them, does not come back, too: attempts that do begin keep to the rate exactly.
local function return_tokens(topic, number, since)
  local step, _, spent = rate_of(topic)
  local unused = step and number * step - math.max(0, now_us - since * 1000) or 0
  if unused > 0 then call('HSET', RATES, topic, integer(spent - unused)) end
end

-- Until when a topic whose first job is due may not be served: 'inf' while it is paused or its number in
-- flight is at its limit, else by its rate; nothing when it may.
local function held_until(topic)
  if settings_of(topic).paused or call('HLEN', holders_of(topic)) >= limit_of(topic) then return 'inf' end
  local tokens, next_at = tokens_of(topic)
  return tokens < 1 and integer(next_at) or nil
end

-- Every topic with a bucket is in exactly one of due and turns: in turns when its first job is due and it
-- may be served; else in due, with the time of its first job or that until which it is held.
local function offer(topic)
  local first = call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')
  if not first[1] then
    call('ZREM', DUE, topic)
    call('ZREM', TURNS, topic)
    return
  end
  local at = tonumber(first[2]) > now and first[2] or held_until(topic)
  if at then
    if at ~= 'inf' then note_due(at) end
    call('ZADD', DUE, at, topic)
    call('ZREM', TURNS, topic)
    return
  end
  call('ZREM', DUE, topic)
  if not call('ZSCORE', TURNS, topic) then
    local last = call('ZRANGE', TURNS, 0, 0, 'REV', 'WITHSCORES')[2] or 0
    call('ZADD', TURNS, last + 1, topic)
  end
end

-- At most one name waits in ready: it wakes one consumer, whose claim rings for the next one.
local function ring()
  if call('LLEN', READY) == 0 then
    local first = call('ZRANGE', TURNS, 0, 0)[1]
    if first then call('RPUSH', READY, first) end
  end
end

-- What became of a topic's jobs of late, for people: field '<part><letter>', where parts of an hour are counted since
-- 1970 and the letter is d (delivered), r (failed and to be retried) or x (dead).
local PART_MS, PARTS = 300000, 12
local part = math.floor(now / PART_MS)
local function hour_of(topic) return base .. 'hour:' .. topic end
local function is_of_last_hour(field)
  local its_part = tonumber(string.match(field, '^%d+'))
  return its_part > part - PARTS and its_part <= part
end

local counts = {}
local function count(topic, letter, number)
  counts[topic] = counts[topic] or {}
  counts[topic][letter] = (counts[topic][letter] or 0) + number
end

-- With each new part the old ones go.
local function write_counts(topic, numbers)
  local key, is_new = hour_of(topic), false
  for letter, number in pairs(numbers) do
    is_new = call('HINCRBY', key, part .. letter, number) == number or is_new
  end
  if not is_new then return end
  for _, field in ipairs(call('HKEYS', key)) do
    if not is_of_last_hour(field) then call('HDEL', key, field) end
  end
  call('PEXPIRE', key, PARTS * PART_MS)
end

-- The end of every script that changes places: writes buckets, offers topics, rings, wakes.
local function finish()
  for topic, numbers in pairs(counts) do write_counts(topic, numbers) end
  for topic, list in pairs(places) do call('ZADD', bucket_of(topic), unpack(list)) end
  for i = 1, #touched do offer(touched[i]) end
  if #touched > 0 then ring() end
  wake()
end

-- The owner, or an outcome, has changed the job: its lost consumers are forgotten.
local function forget_crashes(id)
  if has(CRASHES) then call('HDEL', CRASHES, id) end
end

-- The last attempts of a job, the oldest first. An empty line is none.
local ATTEMPTS_MAX = 10
local function with_attempt(lines, line)
  if line == '' then return lines end
  lines = lines .. line .. '\n'
  local _, count = string.gsub(lines, '\n', '\n')
  for _ = ATTEMPTS_MAX + 1, count do lines = string.sub(lines, string.find(lines, '\n', 1, true) + 1) end
  return lines
end

local function note_attempt(id, line)
  if line ~= '' then call('HSET', ATTEMPTS, id, with_attempt(call('HGET', ATTEMPTS, id) or '', line)) end
end

-- These jobs are gone, or begin anew.
local function forget_attempts(ids)
  if has(ATTEMPTS) then call('HDEL', ATTEMPTS, unpack(ids)) end
end

-- For how long a job of the topic can be read after its end, ms; nothing: not at all, but a dead one for ever.
local function retention_of(topic)
  local seconds = settings_of(topic).retention
  return seconds and math.floor(seconds * 1000 + 0.5)
end

-- What can be read of a job that ends in this state, where its topic has a retention: 'state time losses size', a
-- blank, as many bytes of record, then the lines of its attempts. It takes the place of an earlier one of its id.
local function keep_job(id, state, at, line)
  local retention = retention_of(topic_of(id))
  local record = retention and call('HGET', JOBS, id)
  if not record then return end
  local lines = with_attempt(has(ATTEMPTS) and call('HGET', ATTEMPTS, id) or '', line or '')
  record_bytes_left = record_bytes_left - #record - #lines
  local head = table.concat({state, integer(at), has(CRASHES) and losses_of(id) or 0, #record}, ' ')
  call('HSET', KEPT, id, head .. ' ' .. record .. lines)
  call('ZADD', KEPT_UNTIL, integer(at + retention), id)
end

-- What keep_job has put there: state, time, losses, record, lines; nothing when there is none.
local function kept_job(id)
  local text = call('HGET', KEPT, id)
  if not text then return end
  local state, at, losses, size, start = string.match(text, '^(%a+) (%d+) (%d+) (%d+) ()')
  local lines = start + tonumber(size)
  return state, tonumber(at), tonumber(losses), string.sub(text, start, lines - 1), string.sub(text, lines)
end

-- Takes an id from the one place where it is, and says which that was.
local function take(id)
  local topic = topic_of(id)
  touch(topic)
  if call('ZREM', LEASES, id) == 1 then
    call('HDEL', holders_of(topic), id)
    return 'leased'
  end
  if call('ZREM', bucket_of(topic), id) == 1 then return 'waiting' end
  if call('ZREM', DEAD, id) == 1 then return 'dead' end
end

-- Where a topic has a retention, its dead jobs do not hold their id. When the one that has it died; else nothing.
local function death_without_id(id)
  return has(TOPICS) and retention_of(topic_of(id)) and call('ZSCORE', DEAD, id) or nil
end

-- One that does not makes way for a new job. Whether it was so.
local function make_way(id)
  local death = death_without_id(id)
  if not death then return false end
  keep_job(id, 'dead', tonumber(death))
  take(id)
  forget_crashes(id)
  forget_attempts({id})
  return true
end

-- Gives a job up: its id is in no place any more. Where the topic's settings say so, a notice, which is another job,
-- tells of that; of its own death none does. See JOB_ID_NOTICE, too.
local deaths = 0
local function bury(id, record)
  call('ZADD', DEAD, integer(now), id)
  local topic = topic_of(id)
  count(topic, 'x', 1)
  local url, job_id = settings_of(topic).onDead, string.sub(id, #topic + 2)
  if not url or string.sub(job_id, 1, 5) == 'dead~' then return end
  deaths = deaths + 1
  local notice = topic .. '/dead~' .. integer(now_us) .. '~' .. deaths
  local body = '{"topic":"' .. topic .. '","jobId":"' .. job_id .. '","deadAt":' .. integer(now) .. ',"job":' .. record .. '}'
  if call('HSETNX', JOBS, notice, '{"createdAt":' .. integer(now) .. ',"url":"' .. url .. '","body":' .. body .. '}') == 1 then
    put(notice, now)
  end
end

-- Ids of leases that ran out. A deadline that no lease could have now was written before Redis's clock
-- stepped back; its lease, were it alive, would have been renewed since.
local STEP_MS = 1000
local function lost_leases(lease_ms, most)
  local ids = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, most)
  if #ids > 0 then return ids end
  return call('ZRANGEBYSCORE', LEASES, '(' .. integer(now + lease_ms + STEP_MS), '+inf', 'LIMIT', 0, most)
end

-- The fence, for items of id, nonce and more, each size arguments long, from ARGV[first] on.
-- Returns by the item's number: 'lease' when nonce holds the lease; 'late' when the lease was lost
-- but nobody holds or has changed the job since; nothing otherwise. Once one of a call's items has
-- ended an id's lease, the later ones have none; keeps_lease: the script's items do not end it.
-- Second result: what the claim noted, 'nonce due', for those with a lease.
local function fence(first, size, keeps_lease)
  local topics, ids, numbers = {}, {}, {}
  for i = first, #ARGV, size do
    local id = ARGV[i]
    local topic = topic_of(id)
    if not ids[topic] then
      topics[#topics + 1] = topic
      ids[topic], numbers[topic] = {}, {}
    end
    local list = ids[topic]
    list[#list + 1] = id
    numbers[topic][#list] = (i - first) / size + 1
  end
  local verdicts, claims, has_ended = {}, {}, {}
  local function pass(number, id, verdict, claim)
    if has_ended[id] then return end
    verdicts[number], claims[number] = verdict, claim
    has_ended[id] = not keeps_lease
  end
  for t = 1, #topics do
    local topic = topics[t]
    local found = call('HMGET', holders_of(topic), unpack(ids[topic]))
    for k = 1, #found do
      local number, id = numbers[topic][k], ids[topic][k]
      local nonce = ARGV[first + (number - 1) * size + 1]
      if found[k] then
        if string.match(found[k], '^%S+') == nonce then pass(number, id, 'lease', found[k]) end
      else
        local crash = call('HGET', CRASHES, id)
        if crash and string.match(crash, '%S+$') == nonce then pass(number, id, 'late') end
      end
    end
  end
  return verdicts, claims
end
