-- mend.lua - one step of limited size through the data in Redis, which repairs inconsistent data.
--
-- ARGV[2] data to walk: 'jobs', 'leases', 'attempts', 'kept', 'dead', 'kept_until', 'dead_due', 'due',
--      'turns', 'held', 'lines', 'pulled', 'names', 'topics', 'ended', 'waiting', 'calendars', 'ranks', 'lanes', or 'some_jobs', a random
--      sample of the jobs
-- ARGV[3] cursor, '0' at first
-- Repairs:
--   - a job that is neither leased nor waiting becomes ready, because a late delivery is better than a lost job; a
--     leased job that is also among the waiting jobs of its topic (its bucket) is removed from these; a job with two
--     leases keeps the lease whose nonce is in holders:<topic>
--   - an id without a record is removed from the leases and buckets; an entry of holders:<topic> without a lease,
--     attempts of a job that does not exist, and texts that are not ids are also removed
--   - the hold of a job that does not wait is removed, and a topic's entry in the key "held" gets the time of the
--     topic's first held job
--   - a kept job (a job that has ended) without a time of removal gets the current time, so the next sweep removes it;
--     an id that is not kept is removed from the indexes of kept jobs
--   - a line whose job is gone is removed, see fifo.lua
--   - a topic that is missing in an index of topics is added, and a name without a topic is removed
--   - a topic with waiting jobs that is in neither due nor turns is offered
--   - a dead job that format 1 left in the pool is removed from the pool
--   - if the lists of the outbox lack a text, they are rebuilt; the archiver removes the ids in them that have no
--     text
--   - the index of a topic's lanes gets the waiting jobs and the attempts that it lacks, and loses attempts that are over; a
--     rank that is missing comes from the job's record, and one without a job is removed
--   - the stored number of waiting jobs becomes the number of jobs that are not leased
-- Returns {now_us, next cursor ('0' at the end), repairs ...}.

local cursor
local STEP = 32
local replies

local function mended(what) replies[#replies + 1] = what end

-- Moves a dead job out of the pool. Data of format 1 has dead jobs in the pool, with the times of their deaths in DEAD.
local function move_dead(id, at)
  Ended.keep(id, 'dead', tonumber(at), Attempts.losses(id), call('HGET', JOBS, id), Attempts.lines(id))
  call('HDEL', JOBS, id)
  Attempts.forget_losses(id)
  Attempts.forget({id})
  mended('moved ' .. id)
end

-- Returns whether a text is UTF-8 without control characters. The first patterns find overlong forms and surrogates; the
-- others replace characters of several bytes, so that only bytes that are not UTF-8 are left.
local NO_CHARACTERS = {'[%z\1-\31\127]', '\194[\128-\159]', '\224[\128-\159]', '\237[\160-\191]'}
local CHARACTERS = {
  '[\194-\223][\128-\191]', '[\224-\239][\128-\191][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
}
local function is_text(text)
  for i = 1, #NO_CHARACTERS do
    if string.find(text, NO_CHARACTERS[i]) then return false end
  end
  for i = 1, #CHARACTERS do text = string.gsub(text, CHARACTERS[i], ' ') end
  return not string.find(text, '[\128-\255]')
end

-- Returns whether a text has the form of an id. Requests, lists and consumers refuse other texts (job/job_id.h), so a
-- job with such a name could neither be delivered nor found.
local function is_id(text)
  return string.find(text, '^[%w._~-]+/[ -~]+$') or string.find(text, '^[%w._~-]+/.') and is_text(text)
end

-- Removes a text that is not an id from the pool or from the kept jobs. Other walks then remove it from the places and
-- indexes that have it.
local function remove_foreign(key, id)
  call('HDEL', key, id)
  mended('foreign ' .. id)
end

-- If a job is leased by a consumer and also by a worker, ends one of the two leases.
local function mend_leases(id)
  local _, holder = Leases.deadline(id)
  if holder ~= CONSUMERS or not has(WORKERS.leases) or not call('ZSCORE', WORKERS.leases, id) then return end
  local claim = call('HGET', holders_of(topic_of(id)), id)
  call('ZREM', claim and Leases.holder(claim) == WORKERS and CONSUMERS.leases or WORKERS.leases, id)
  mended('doubled ' .. id)
end

local function mend_job(id)
  if not is_id(id) then
    remove_foreign(JOBS, id)
    return
  end
  Places.touch(topic_of(id), 'all')
  local state = Leases.locate(id)
  local death = not state and call('HEXISTS', KEPT, id) == 0 and call('ZSCORE', DEAD, id)
  if death then
    move_dead(id, death)
  elseif not state then
    Places.put(id, now)
    mended('lost ' .. id)
  elseif state == 'leased' and Places.leave_bucket(topic_of(id), {id}) > 0 then
    mended('doubled ' .. id)
  end
  if state == 'leased' then mend_leases(id) end
  if state == 'leased' and has_lanes then Lanes.mend_attempt(topic_of(id), id) end
  if state ~= 'leased' and call('HDEL', holders_of(topic_of(id)), id) == 1 then
    Lanes.end_attempts(topic_of(id), {id})
    mended('holder ' .. id)
  end
end

local function mend_place(key, id, topic)
  if call('HEXISTS', JOBS, id) == 0 then
    if topic then Places.leave_bucket(topic, {id}) else call('ZREM', key, id) end
    call('HDEL', holders_of(topic_of(id)), id)
    Lanes.end_attempts(topic_of(id), {id})
    Attempts.forget_losses(id)
    Attempts.forget({id})
    Places.touch(topic_of(id), 'all')
    mended('empty ' .. id)
  end
end

-- Removes an entry of holders:<topic> without a lease, which would count as a job in flight for ever.
local function mend_holder(holder, topic)
  if Leases.deadline(holder) or Lingering.has(holder) then
    if has_lanes then Lanes.mend_attempt(topic, holder) end
    return
  end
  call('HDEL', holders_of(topic), holder)
  if has_lanes then Lanes.end_attempts(topic, {holder}) end
  mended('holder ' .. string.gsub(holder, '\n', ' '))
end

-- Gives a job the rank in its record, if it has none.
local function mend_lane(id, record)
  local rank, retry_priority = Ranks.in_record(record), settings_of(topic_of(id)).retryPriority
  if not rank or Ranks.of(id) ~= Ranks.PLAIN and Lanes.state(topic_of(id)) then return end
  if retry_priority and Ranks.of(id) == Ranks.with_priority(rank, retry_priority) and Lanes.state(topic_of(id)) then return end
  Lanes.note_changed(id, record)
  Places.touch(topic_of(id), 'all')
  mended('rank ' .. id)
end

-- Removes the rank of a job, or of a cancelled attempt, that is gone.
local function mend_rank(id)
  if call('HEXISTS', JOBS, id) == 1 or Lingering.has(id) then return end
  Ranks.forget({id})
  mended('rank ' .. string.gsub(id, '\n', ' '))
end

local function mend_held(id, topic)
  if call('ZSCORE', bucket_of(topic), id) then return end
  is_there[HELD] = true
  Holds.remove(topic, {id})
  mended('held ' .. id)
end

-- Makes Holds.write correct or remove the topic's entry in HELD at the end of the script. Called after mend_held has
-- removed the held jobs of the topic that do not wait.
local function mend_held_topic(topic)
  Holds.topics[topic] = true
  is_there[HELD] = true
end

local function mend_attempts(id)
  if call('HEXISTS', JOBS, id) == 0 then
    Attempts.forget({id})
    mended('attempts ' .. id)
  end
end

-- Makes the indexes of kept jobs match the text of a kept job. The text has the job's state and time.
local function mend_kept(id, text)
  if not is_id(id) then
    remove_foreign(KEPT, id)
    return
  end
  local state, at = string.match(text, '^(%a+) (%d+) %d+/?%S* %d+ ')
  if not state then state, at = 'dead', integer(now) end
  local is_dead, topic = state == 'dead', topic_of(id)
  local has_index = call('ZSCORE', index_of(state, topic), id)
  local is_whole = has_index and call('ZSCORE', is_dead and DEAD or KEPT_UNTIL, id)
  if not has_index then call('ZADD', index_of(state, topic), at, id) end
  if not is_whole then call('ZADD', is_dead and DEAD or KEPT_UNTIL, is_dead and at or integer(now), id) end
  if call('ZREM', is_dead and KEPT_UNTIL or DEAD, id) == 1 or not is_whole then mended('kept ' .. id) end
  if is_dead then Ended.touch_dead(topic) end
  Names.add(topic)
end

local function mend_index(key, id)
  if call('HEXISTS', KEPT, id) == 1 or key == DEAD and call('HEXISTS', JOBS, id) == 1 and not Leases.locate(id) then return end
  call('ZREM', key, id)
  for _, state in ipairs({'dead', 'delivered', 'cancelled'}) do call('ZREM', index_of(state, topic_of(id)), id) end
  Ended.touch_dead(topic_of(id))
  Names.doubt(topic_of(id))
  mended('kept ' .. id)
end

local function mend_name(topic)
  Names.doubt(topic)
  for _, removed in ipairs(Names.write()) do mended('name ' .. removed) end
end

local function scan(command, key)
  local page = call(command, key, cursor, 'COUNT', STEP)
  replies[2] = page[1]
  return page[2]
end

-- HSCAN returns fields with their values, which may be long. So each HSCAN of a step reads only one bucket of Redis's
-- hash table, until the step has read enough.
local READ_BYTES, READ_BUCKETS = 4 * 1024 * 1024, 256
local function scan_hash(key)
  local fields, bytes, buckets = {}, 0, 0
  repeat
    local page = call('HSCAN', key, cursor, 'COUNT', 1)
    for i = 1, #page[2] do
      fields[#fields + 1] = page[2][i]
      bytes = bytes + #page[2][i]
    end
    cursor, buckets = page[1], buckets + 1
  until cursor == '0' or #fields >= STEP or bytes >= READ_BYTES or buckets == READ_BUCKETS
  replies[2] = cursor
  return fields
end

-- Examines many topics in each step, because all but the stranded ones cost only a part of two queries.
local CALENDARS_STEP, OFFERS_MAX = 1000, 64
local function mend_calendars()
  local topics, offers = call('ZRANGE', NAMES, cursor == '0' and '-' or cursor, '+', 'BYLEX', 'LIMIT', 0, CALENDARS_STEP), 0
  if #topics == 0 then return end
  local due, turns = call('ZMSCORE', DUE, unpack(topics)), call('ZMSCORE', TURNS, unpack(topics))
  if #topics == CALENDARS_STEP then replies[2] = '(' .. topics[CALENDARS_STEP] end
  for i = 1, #topics do
    if not due[i] and not turns[i] and call('EXISTS', bucket_of(topics[i])) == 1 then
      Places.touch(topics[i], 'all')
      mended('stranded ' .. topics[i])
      offers = offers + 1
      if offers == OFFERS_MAX then
        replies[2] = '(' .. topics[i]
        return
      end
    end
  end
end

-- Counts the attempts of each topic for its limit again, and then their sums, unless very many topics have such attempts.
local LIMITED_MAX = 5000
local function mend_limited()
  local fields = scan_hash(LIMITED)
  for i = 1, #fields, 2 do Places.touch(fields[i], 'all') end
  if replies[2] ~= '0' or call('HLEN', LIMITED) > LIMITED_MAX then return end
  local sums, entries, used = {}, call('HVALS', LIMITED), call('HGETALL', LIMITS_USED)
  for i = 1, #entries do
    local number, name = string.match(entries[i], '^(%d+) (.+)$')
    if name then sums[name] = (sums[name] or 0) + number end
  end
  for i = 1, #used, 2 do
    local right = sums[used[i]] or 0
    if tonumber(used[i + 1]) ~= right then
      if right > 0 then call('HSET', LIMITS_USED, used[i], right) else call('HDEL', LIMITS_USED, used[i]) end
      Limits.touched[used[i]] = true
      mended('limit ' .. used[i])
    end
    sums[used[i]] = nil
  end
  for name, right in pairs(sums) do
    call('HSET', LIMITS_USED, name, right)
    mended('limit ' .. name)
  end
end

-- Walks the topics by name, and the keys of those with lanes. The cursor is '(' and a topic after which the walk continues, or
-- a cursor in the keys of a topic, and this topic.
local LANES_STEP = 1000 -- topics
local function mend_lanes()
  local inner, topic = string.match(cursor, '^(%d+) (.+)$')
  if not inner then
    local topics = call('ZRANGE', NAMES, cursor == '0' and '-' or cursor, '+', 'BYLEX', 'LIMIT', 0, LANES_STEP)
    local states = #topics > 0 and call('HMGET', LANES, unpack(topics)) or {}
    for i = 1, #topics do topic = topic or states[i] and topics[i] end
    if not topic and #topics == LANES_STEP then replies[2] = '(' .. topics[LANES_STEP] end
    if not topic then return end
    inner = '0'
  end
  if Lanes.state(topic) then
    cursor = inner
    local entries = scan('ZSCAN', Lanes.pending_key(topic))
    for i = 1, #entries, 2 do
      if Lanes.mend(topic, entries[i]) then mended('lane ' .. topic .. ' ' .. entries[i]) end
    end
    Places.touch(topic, 'all')
  end
  replies[2] = replies[2] == '0' and '(' .. topic or replies[2] .. ' ' .. topic
end

-- Jobs that end during this walk may be listed twice, which does no harm.
local function mend_outbox()
  if cursor == '0' then
    if call('HLEN', ENDED) <= call('LLEN', ENDED_IDS) + call('LLEN', ENDED_READ) then return end
    call('UNLINK', ENDED_IDS, ENDED_READ)
    call('HDEL', NUMBERS, 'outbox_bytes')
    Outbox.disturb_archiver()
    mended('lists of the outbox')
  end
  local fields = scan_hash(ENDED)
  for i = 1, #fields, 2 do
    call('RPUSH', ENDED_IDS, fields[i])
    call('HINCRBY', NUMBERS, 'outbox_bytes', Outbox.size(fields[i], fields[i + 1]))
  end
end

-- Walks through the topics in the sorted set key, and for each topic through the entries of the sorted set
-- entries_of(topic). If there is a mend_holder, the walk then visits the entries of holders:<topic>. The cursor is the
-- rank of a topic, followed by a cursor in its entries, or by 'h' and a cursor in its holders. If ranks change during
-- the walk, entries may be missed; a later walk finds them.
local function walk_topics(key, entries_of, mend_entry, mend_topic, mend_holder)
  local rank, part, inner = string.match(cursor, '^(%d+) ?(h?)(%d*)$')
  local left = STEP
  while left > 0 do
    local topic = call('ZRANGE', key, rank, rank)[1]
    if not topic then
      replies[2] = '0'
      break
    end
    cursor = inner == '' and '0' or inner
    local is_entry = part == ''
    local entries = is_entry and scan('ZSCAN', entries_of(topic)) or scan('HSCAN', holders_of(topic))
    for i = 1, #entries, 2 do (is_entry and mend_entry or mend_holder)(entries[i], topic) end
    left = left - math.max(is_entry and 1 or 0, #entries / 2)
    if replies[2] ~= '0' then
      replies[2] = rank .. ' ' .. part .. replies[2]
      break
    end
    inner = ''
    if is_entry and mend_holder then
      part = 'h'
    else
      mend_topic(topic)
      rank, part = tostring(rank + 1), ''
    end
    replies[2] = rank .. (part == 'h' and ' h0' or '')
  end
end

script('mend', {'allow-oom'}, {
  Attempts, Ended, Expiries, Holds, Lanes, Leases, Limits, Lingering, Names, Outbox, Places, Ranks, Records
}, function()
  local walk = ARGV[2]
  cursor = ARGV[3]
  replies = {now_us, '0'}
  probe()
  if walk == 'jobs' then
    local fields = scan_hash(JOBS)
    for i = 1, #fields, 2 do
      mend_job(fields[i])
      local expires = Records.expiry(fields[i + 1])
      if expires < math.huge then Expiries.note(fields[i], integer(expires)) end
      mend_lane(fields[i], fields[i + 1])
    end
  elseif walk == 'attempts' then
    local fields = scan_hash(ATTEMPTS)
    for i = 1, #fields, 2 do mend_attempts(fields[i]) end
  elseif walk == 'kept' then
    local fields = scan_hash(KEPT)
    for i = 1, #fields, 2 do mend_kept(fields[i], fields[i + 1]) end
  elseif walk == 'kept_until' or walk == 'dead' then
    local entries = scan('ZSCAN', base .. walk)
    for i = 1, #entries, 2 do mend_index(base .. walk, entries[i]) end
  elseif walk == 'dead_due' then
    local entries = scan('ZSCAN', DEAD_DUE)
    for i = 1, #entries, 2 do Ended.touch_dead(entries[i]) end
  elseif walk == 'some_jobs' then
    for _, id in ipairs(call('HRANDFIELD', JOBS, STEP)) do mend_job(id) end
  elseif walk == 'names' then
    local topics = call('ZRANGE', NAMES, cursor == '0' and '-' or cursor, '+', 'BYLEX', 'LIMIT', 0, STEP)
    for i = 1, #topics do mend_name(topics[i]) end
    if #topics == STEP then replies[2] = '(' .. topics[STEP] end
  elseif walk == 'calendars' then
    mend_calendars()
  elseif walk == 'topics' then
    local fields = scan_hash(TOPICS)
    for i = 1, #fields, 2 do Places.touch(fields[i], 'all') end
  elseif walk == 'lines' then
    local fields = scan_hash(LINES)
    for i = 1, #fields, 2 do
      Places.touch(string.match(fields[i], '^[^\n]*'), 'all')
      if string.find(fields[i], '\n', 1, true) then Lanes.mend_line(fields[i]) else Places.leave_fifo(fields[i]) end
    end
  elseif walk == 'ranks' then
    local fields = scan_hash(RANKS)
    for i = 1, #fields, 2 do mend_rank(fields[i]) end
  elseif walk == 'lanes' then
    mend_lanes()
  elseif walk == 'limited' then
    mend_limited()
  elseif walk == 'ended' then
    mend_outbox()
  elseif walk == 'waiting' then
    local number = call('HLEN', JOBS) - Leases.number()
    if number ~= tonumber(call('HGET', NUMBERS, 'waiting') or 0) then
      call('HSET', NUMBERS, 'waiting', number)
      mended('number of waiting jobs')
    end
  elseif walk == 'leases' or walk == 'pulled' then
    local entries = scan('ZSCAN', base .. walk)
    for i = 1, #entries, 2 do mend_place(base .. walk, entries[i]) end
  elseif walk == 'held' then
    walk_topics(HELD, Holds.key, mend_held, mend_held_topic)
  else -- 'due' or 'turns': walks the buckets of their topics
    walk_topics(base .. walk, bucket_of, function(id, topic)
      Places.touch(topic, 'all')
      if has_lanes then Lanes.mend_place(topic, id) end
      mend_place(bucket_of(topic), id, topic)
    end, function(topic)
      Places.touch(topic, 'all')
      if call('EXISTS', Holds.key(topic)) == 1 then mend_held_topic(topic) end
    end, mend_holder)
  end
  Ended.finish()
  Places.finish()
  return replies
end)
