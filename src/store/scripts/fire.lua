-- fire.lua - fires schedules: schedules the job of an occurrence (one time of a schedule), and writes the schedule's
-- next time. Nothing happens if the definition has changed or the schedule's time is not the expected one. So if
-- several processes fire the same occurrence, only the first creates its job. The flag allow-oom is not set, so a
-- full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit   [3] time that an idempotency key is kept, ms
-- then for each item:
--   id        of the schedule
--   tag       of its definition
--   expected  the schedule's time in FIRES as the caller has read it, ms; '-' if a client requests the occurrence, or,
--             with kind 'move', if FIRES has no time for the schedule
--   next      its next time, ms, or '-'
--   kind      'fire'; 'hold': the time cannot be fired now; or a word that says why no job is created: 'skip',
--             'noGroup', 'unsendable'. If such an item has a key in once, the call only looks for the answer to an
--             earlier request with this key. 'move': only the next time changes, because the clock has stepped back
--   time      of the occurrence, ms
--   missed    1 if times were missed, else 0
--   overlap   1: no job is created until the job of the last occurrence has ended; else 0
--   skipped   the schedule's new text in SKIPPED; '-': removes it; '=': does not change it
--   job       id of the job, whose topic is that of the schedule or one of its siblings
--   when      of the job, as in schedule.lua
--   record    of the job, as in schedule.lua
--   once      of an occurrence that a client requests, as in schedule.lua; else '-'
--   number    of endpoints that the job is sent to, or 0. If it is not 0, the mark and the group as in send.lua follow, then
--             an endpoint and a record for each job; all jobs are created, or none
-- Returns {now_us, result ...}. A result is the due time of the (first) job; 1 for other kinds than fire; 0 if nothing
-- happened; FULL: no job was created, and the schedule keeps its time; only its entry in fired has changed; QUOTA: no job
-- was created because of the topic's quota, and the schedule tries again a little later; OVERLAP, TAKEN (another job has
-- the id) or NO_URL: the time has passed without a job. If a client requests an occurrence, the result may be that of
-- Quotas.refusal. If an earlier call has used the idempotency key: {'repeated', due, id} of that call's answer, or
-- REUSED if it had other content.

local ITEM = 14 -- number of arguments of an item without endpoints
local KINDS = {fire = true, hold = true, skip = true, noGroup = true, unsendable = true, move = true}

local function is_time(word) return word == '-' or string.find(word, '^%d+$') end

-- Reads an item, and refuses the call before its first write if the item has another form.
local function read_item(at)
  local item = {id = ARGV[at], tag = ARGV[at + 1], expected = ARGV[at + 2], next_at = ARGV[at + 3], kind = ARGV[at + 4],
    time = ARGV[at + 5], missed = ARGV[at + 6], overlap = ARGV[at + 7], skipped = ARGV[at + 8], job = ARGV[at + 9],
    when = ARGV[at + 10], record = ARGV[at + 11], once = ARGV[at + 12], size = ITEM}
  local number = tonumber(string.match(ARGV[at + 13] or '', '^%d+$'))
  if not number then error('wrong number of arguments') end
  if not is_time(item.expected) or not is_time(item.next_at) then error('not a number') end
  if not string.find(item.time, '^%d+$') or not string.find(item.when, '^@?%d+$') then error('not a number') end
  if not string.find(item.skipped, '^[-=]$') and not string.find(item.skipped, '^%d+ %d') then error('not times') end
  if not KINDS[item.kind] or not string.find(item.id, '^[^/]+/.') then error('not an item') end
  local is_of_id = string.sub(item.job, 1, #item.id) == item.id -- the usual case, in which both ids have one topic
  if item.kind == 'fire' and not is_of_id and owner_of(topic_of(item.job)) ~= owner_of(topic_of(item.id)) then error('another topic') end
  if number > 0 then
    item.mark, item.group, item.size = ARGV[at + 14], ARGV[at + 15], ITEM + 2 + 2 * number
    item.endpoints, item.records = Sends.read_jobs(at + ITEM + 2, number)
    if not string.match(item.mark .. ' ' .. item.group, '^%S+ %S+$') then error('not a mark and a group') end
  end
  return item
end

local items, room

-- Entries and times of all schedules of this call, which are read together. write_schedules writes the ones that have
-- changed.
local entries, times, changed_entries, changed_times
local function read_schedules()
  local ids = {}
  for i = 1, #items do ids[i] = items[i].id end
  local texts, scores = call('HMGET', FIRED, unpack(ids)), call('ZMSCORE', FIRES, unpack(ids))
  for i = 1, #ids do entries[ids[i]], times[ids[i]] = texts[i], scores[i] end
end

local function write_all(command, key, words)
  if #words > 0 then call(command, key, unpack(words)) end
end

local skipped -- id -> new text, or '-'
local function write_skipped()
  local texts, scores, removed, not_scored = {}, {}, {}, {}
  for id, text in pairs(skipped) do
    if text ~= '-' then
      texts[#texts + 1] = id
      texts[#texts + 1] = text
    else
      removed[#removed + 1] = id
    end
    local until_ms = string.match(text, '^[1-9]%d*')
    if until_ms then
      scores[#scores + 1] = until_ms
      scores[#scores + 1] = id
    else
      not_scored[#not_scored + 1] = id
    end
  end
  write_all('HSET', SKIPPED, texts)
  write_all('ZADD', SKIPPED_UNTIL, scores)
  write_all('HDEL', SKIPPED, removed)
  write_all('ZREM', SKIPPED_UNTIL, not_scored)
end

local function write_schedules()
  local texts, scores, ended = {}, {}, {}
  for id in pairs(changed_entries) do
    texts[#texts + 1] = id
    texts[#texts + 1] = entries[id]
  end
  for id in pairs(changed_times) do
    if times[id] then
      scores[#scores + 1] = times[id]
      scores[#scores + 1] = id
    else
      ended[#ended + 1] = id
    end
  end
  write_all('HSET', FIRED, texts)
  write_all('ZADD', FIRES, scores)
  write_all('ZREM', FIRES, ended)
  write_skipped()
end

-- Changes the next time of a schedule. time: false if the schedule does not fire any more.
local function set_time(id, time) times[id], changed_times[id] = time, true end

local function is_expected(id, expected)
  local at = tonumber(times[id] or 'inf')
  return at == tonumber(expected) and at <= now
end

-- Returns whether the job with this id, or a job that was sent to a group under this id, has not ended.
local function is_in_pool(id)
  if call('HEXISTS', JOBS, id) == 1 then return true end
  local _, _, endpoints, sent_at = Sends.read(id)
  return endpoints and Sends.first_left(id, endpoints, sent_at) ~= nil
end

-- Schedules the jobs of an occurrence that is sent to a group.
local function make_jobs(item)
  if is_in_pool(item.job) or Sends.first_left(item.job, item.endpoints) then return RESULT.TAKEN, 'conflict' end
  if room < #item.endpoints or not Sends.has_room() then return RESULT.FULL, 'full' end
  local refused = Quotas.refusal(topic_of(item.job), #item.endpoints, item.records[1])
  if refused then return refused, 'quota' end
  room = room - #item.endpoints
  Quotas.take(topic_of(item.job), #item.endpoints, item.records[1])
  return Sends.put(item.job, item.when, item.mark, item.group, item.endpoints, item.records)[1], 'fire'
end

-- Schedules the job of an occurrence. Returns its due time and 'fire', or a result and a word that say why no
-- job was created.
local function make_job(item, previous)
  if previous and previous ~= '' and is_in_pool(previous) then return RESULT.OVERLAP, 'overlap' end
  if item.endpoints then return make_jobs(item) end
  local has_no_url, refused = Records.lacks_url(item.job, item.record), Quotas.refusal(topic_of(item.job), 1, item.record)
  if has_no_url or refused or room < 1 then
    if call('HEXISTS', JOBS, item.job) == 1 then return RESULT.TAKEN, 'conflict' end
    if has_no_url then return RESULT.NO_URL, 'noUrl' end
    if room < 1 then return RESULT.FULL, 'full' end
    return refused, 'quota'
  end
  local at, created = Records.due_of(item.when)
  local record, expires = Records.complete(created, item.record)
  if call('HSETNX', JOBS, item.job, record) == 0 then return RESULT.TAKEN, 'conflict' end
  Expiries.note(item.job, expires)
  Lanes.note_new(item.job, item.record)
  Stream.add(topic_of(item.job), item.job, 'accepted')
  Stream.add(topic_of(item.job), item.job, 'fired', cjson.encode(string.match(item.id, '/(.*)$')))
  room = room - 1
  Quotas.take(topic_of(item.job), 1, item.record)
  return Places.put_new(item.job, at), 'fire'
end

-- Creates an occurrence that a client requests.
local function run(item)
  local result = make_job(item)
  if item.once ~= '-' and type(result) == 'number' and result > 1 then Idempotency.keep(item.once, item.job, result, tonumber(ARGV[3])) end
  return result
end

local function set_next(item)
  set_time(item.id, item.next_at ~= '-' and item.next_at)
  if item.skipped ~= '=' then skipped[item.id] = item.skipped end
end

local function move(item)
  if (times[item.id] and tonumber(times[item.id])) ~= (item.expected ~= '-' and tonumber(item.expected)) then return 0 end
  set_next(item)
  Expected.move(item.id, item.next_at)
  return 1
end

-- Returns when the job of an occurrence is due, ms.
local function due_of(item)
  local at = string.match(item.when, '^@(.*)$')
  return at or integer(now + tonumber(item.when))
end

local function fire(item)
  local id, kind = item.id, item.kind
  local answer = item.once ~= '-' and Idempotency.answer(item.once)
  if answer then return answer end
  local its_tag, last = string.match(entries[id] or '', '^(%S+) (.*)$')
  if its_tag ~= item.tag then
    if not its_tag then -- the schedule no longer exists, and its time is removed
      set_time(id, false)
      skipped[id] = '-'
    end
    return 0
  end
  if kind == 'move' then return move(item) end
  if item.expected == '-' then return kind == 'fire' and run(item) or 0 end
  if not is_expected(id, item.expected) then return 0 end
  local previous, result, outcome = string.match(last, '^%S+ %S+ %S+ %S+ (.*)$') or '', 1, kind
  if kind == 'fire' then result, outcome = make_job(item, item.overlap == '1' and previous) end
  if type(result) == 'table' then
    -- The schedule leaves the front of FIRES, so that many schedules of a full topic do not keep others waiting.
    set_time(id, integer(now + result[5]))
    result = RESULT.QUOTA
  end
  local made = result > 1 and item.job or previous
  entries[id] = table.concat({item.tag, outcome, item.missed, item.time, integer(now), made}, ' ')
  changed_entries[id] = true
  if result ~= RESULT.FULL and result ~= RESULT.QUOTA then
    local jobs = result > 1 and (item.endpoints and #item.endpoints or 1) or 0
    if kind ~= 'hold' then Expected.fired(id, outcome, item.time, item.job, due_of(item), jobs, item.next_at) end
    set_next(item)
  end
  if result == RESULT.FULL and clock.is_manual then clock.note_full() end
  return result
end

script('fire', {}, {Expected, Expiries, Idempotency, Lanes, Places, Quotas, Records, Sends, Stream}, function()
  items = {}
  local topics, is_known = {}, {}
  local at = 4
  while at <= #ARGV do
    local item = read_item(at)
    items[#items + 1] = item
    at = at + item.size
    if item.kind == 'fire' and not is_known[topic_of(item.job)] then
      topics[#topics + 1] = topic_of(item.job)
      is_known[topic_of(item.job)] = true
    end
  end
  probe()
  local max_jobs = tonumber(ARGV[2])
  room = max_jobs > 0 and max_jobs - Expiries.jobs_below(max_jobs) or math.huge
  entries, times, changed_entries, changed_times = {}, {}, {}, {}
  skipped = {}
  Places.look_at_buckets(topics)
  Quotas.look(topics)
  read_schedules()
  local replies = {now_us}
  for i = 1, #items do replies[#replies + 1] = fire(items[i]) end
  write_schedules()
  Places.finish()
  return replies
end)
