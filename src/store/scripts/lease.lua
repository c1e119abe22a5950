-- lease.lua - leases due jobs of pull topics to workers. A worker requests jobs of one topic.
--
-- A job is leased until a deadline. The sorted set WORKERS.leases has the job's id with this deadline. The hash holders:<topic>
-- has the nonce of the lease, as for the leases of consumers (claim.lua). Workers' leases count for maxInFlight, rates
-- and the order of fifo topics like those of consumers.
--
-- ARGV from 2, for each request:
--   topic
--   most    maximum number of jobs
--   nonce   names the leases, and begins with 'p'
--   lease   ms
--   wait    how long the caller waits for a job if none can be leased now, ms; 0: it does not wait
--   once    '-', or the request's fingerprint, a space, and its idempotency key: a repeated request with this key gets
--           the same jobs, except those that are no longer leased. The key is kept while the leases last, but at least
--           a minute. If '!', the nonce of such an answer and a space come first, the worker can use none of the jobs
--           in that answer. The key is then removed, and the result has these jobs once more, with 2 instead of 1
--   key     '', or '=' and the key of the jobs that are wanted; '=' alone: those without a key
-- Returns {now_us, result ...}. A result is NOT_PULL, LACKING, UNREADABLE, REUSED or AGAIN, or {nonce, 0 for new leases
-- or 1 or 2 for the leases of an earlier request, 1 if more jobs may be leased now or 0, earliest time for a job if it
-- is known or -1, settings of the topic or '', then for each job: id, due time, time of the lease, deadline, record}. A
-- job that has expired is leased for a short time, and the caller buries it.

local SIZE = 7
local READ_AT_ONCE = 16 -- records
local EXPIRED_LEASE_MS = 5000
local KEPT_MS = 60000

-- Returns how many jobs of the topic may be leased now, and the time at which more jobs may be leased, or -1 if this
-- time is not known. most: the requested number. first_due: score of the first waiting job, or nothing.
local function most_of(topic, most, first_due)
  local own = settings_of(topic)
  if own.paused then return 0, -1 end
  local opens = own.windows and Openings.closed_until(topic, true) -- no other script offers a topic that waits for workers
  if opens then return 0, tonumber(opens) < math.huge and tonumber(opens) or -1 end
  most = math.min(most, Turns.limit_of(topic) - call('HLEN', holders_of(topic)))
  if most < 1 then return 0, -1 end
  if not first_due or first_due == 'inf' then return 0, -1 end
  if not is_due(first_due) then return 0, ms_of(first_due) end
  local line_at = own.order == 'fifo' and has(LINES) and Fifo.wait_until(topic)
  if line_at then return 0, tonumber(line_at) end
  local tokens, next_at = math.huge, -1
  if own.rate then tokens, next_at = Rates.tokens(topic, tonumber(first_due)) end
  most = math.min(most, tokens)
  local shared = most >= 1 and Limits.of(topic)
  if not shared then return most, next_at end
  local room, room_at = Limits.room(shared, topic, tonumber(first_due))
  return math.min(most, room), room < 1 and (room_at or -1) or next_at
end

-- Returns the first due jobs of a topic as three lists: ids, scores as texts, and scores as numbers; and the lanes of which
-- they were chosen, if the topic has lanes (lib/lanes.lua). only: the key of the wanted jobs, or nothing.
local function find_due(topic, most, only)
  if has_lanes and Lanes.are_used(topic) then
    return Lanes.choose(topic, most, Turns.A_JOB, only)
  end
  local found, ids, scores, times, number = call('ZRANGE', bucket_of(topic), 0, most - 1, 'WITHSCORES'), {}, {}, {}, 0
  for i = 2, #found, 2 do
    local score = found[i]
    local time = tonumber(score)
    if time >= due_before then break end
    number = number + 1
    ids[number], scores[number], times[number] = found[i - 1], score, time
  end
  if only and ids[1] and Ranks.key_in(Ranks.of(ids[1])) ~= only then return {}, {}, {} end -- only fifo topics have jobs with keys here
  return ids, scores, times
end

-- Reads records until the call reaches its limit of bytes; the first record of a call is always returned. The result
-- has false in place of a record that does not exist.
local has_record
local function read_records(ids)
  local records = {}
  for from = 1, #ids, READ_AT_ONCE do
    local found = call('HMGET', JOBS, unpack(ids, from, math.min(from + READ_AT_ONCE - 1, #ids)))
    for i = 1, #found do
      local record = found[i]
      local bytes = record and #record or 0
      if record and has_record and bytes > Records.bytes_left then return records end
      has_record, Records.bytes_left = has_record or record ~= false, Records.bytes_left - bytes
      records[from + i - 1] = record
    end
  end
  return records
end

local function add_job(result, id, due, started, deadline, record)
  local at = #result
  result[at + 1], result[at + 2], result[at + 3], result[at + 4], result[at + 5] = id, due, started, deadline, record
end

-- Leases the first due jobs of a topic. Returns how many of the leased jobs the worker gets; the others have expired.
-- An id without a record, or a text that is not an id, is removed from the waiting jobs.
local function lease_due(topic, most, nonce, lease_ms, result, only)
  local ids, scores, times, lanes = find_due(topic, most, only)
  local records, dues, own = read_records(ids), Holds.dues(topic, ids), settings_of(topic)
  local leases, holders, begun, number, given = {}, {}, {}, 0, 0
  local shared = Limits.of(topic)
  local plain = nonce .. ' ' .. integer(now) .. ' - '
  local with_callbacks = nonce .. ' ' .. integer(now) .. ' + '
  local opening = (own.onDelivered or own.onAttempt) and with_callbacks or plain
  local least_bytes, until_ms, until_text = #topic + 2, now + lease_ms, integer(now + lease_ms)
  for i = 1, #records do
    local id, record, due = ids[i], records[i], dues[i]
    if not record or #id < least_bytes then
      Attempts.forget_all(id)
    else
      number = number + 2
      leases[number - 1], leases[number] = until_text, id
      holders[number - 1], holders[number] = id,
        (Records.may_have(record, 'c') and with_callbacks or opening) .. (due or scores[i])
      due = due and tonumber(due) or times[i]
      if Records.is_expired(record) then
        leases[number - 1] = integer(now + EXPIRED_LEASE_MS)
        add_job(result, id, due, now, now + EXPIRED_LEASE_MS, record)
      else
        begun[#begun + 1] = id
        if own.events then Stream.add(topic, id, 'begun') end
        given = given + 1
        add_job(result, id, due, now, until_ms, record)
      end
    end
  end
  if #records == 0 then return given end
  local taken = #records == #ids and ids or {unpack(ids, 1, #records)}
  local first_due = lanes and own.rate and Rates.first_due_of(topic) or tonumber(scores[1])
  if lanes then
    Places.leave_bucket(topic, taken)
  else
    Places.leave_front(topic, taken)
    Places.touch(topic, 'left')
  end
  if number > 0 then
    call('ZADD', WORKERS.leases, unpack(leases))
    call('HSET', holders_of(topic), unpack(holders))
    is_there[WORKERS.leases] = true
    if Waited.is_used() then Waited.note_moved(leases) end
    Names.keep(topic)
    if has_lanes then Lanes.begin_attempts(topic, holders) end
  end
  if lanes then Lanes.served(topic, lanes, taken, begun, 2 * #taken == number, Turns.A_JOB) end
  if own.rate and #begun > 0 then Rates.spend(topic, #begun, first_due) end
  if shared and number > 0 then Limits.begin_attempts(topic, shared, call('HLEN', holders_of(topic)), #begun, tonumber(scores[1])) end
  return given
end

-- Returns the score of the first job that may be leased, or nothing.
local function first_score(topic, only)
  if has_lanes and Lanes.are_used(topic) then return only and Lanes.head(topic, only) or not only and Lanes.front(topic) or nil end
  if only and only ~= '' then return end
  local id, score = unpack(call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES'))
  return (not only or id and Ranks.key_in(Ranks.of(id)) == only) and score or nil
end

-- Adds the jobs of an earlier request to the result, except those that are no longer leased.
local function lease_again(topic, kept, result)
  local nonce, ids = string.match(kept, '^([^\n]+)\n(.*)$')
  result[1] = nonce
  for id in string.gmatch(ids, '[^\n]+') do
    local claim, deadline = call('HGET', holders_of(topic), id), call('ZSCORE', WORKERS.leases, id)
    local holder_nonce, due, began = Leases.read_claim(claim or '')
    local record = deadline and holder_nonce == nonce and tonumber(deadline) > now and call('HGET', JOBS, id)
    if record then
      Records.bytes_left = Records.bytes_left - #record
      add_job(result, id, tonumber(due), tonumber(began), tonumber(deadline), record)
    end
  end
  return result
end

local HEAD = 5 -- number of values in a result before its jobs
local function keep_leases(once, nonce, result, lease_ms)
  local words = {nonce}
  for i = HEAD + 1, #result, 5 do words[#words + 1] = result[i] end
  Idempotency.keep(once, table.concat(words, '\n'), now, math.max(lease_ms, KEPT_MS))
end

local function refusal_of(topic)
  local own = settings_of(topic)
  if own == UNREADABLE then return RESULT.UNREADABLE end
  if not knows_needs(topic) then return RESULT.LACKING end
  if not is_pull(topic) then return RESULT.NOT_PULL end
end

local function lease(topic, most, nonce, lease_ms, wait_ms, once, only)
  if Records.has_read_enough() then return RESULT.AGAIN end
  local useless, request = string.match(once, '^!(%S+) (.+)$')
  once = request or once
  local kept = once ~= '-' and Idempotency.answer(once)
  if kept == RESULT.REUSED then return kept end
  local refusal = refusal_of(topic)
  if refusal then return refusal end
  local result = {nonce, 0, 0, -1, serving_text_of(topic)}
  if kept then
    lease_again(topic, kept[3], result)
    result[2] = 1
    if result[1] == useless then
      result[2] = 2
      Idempotency.forget(once)
    end
    return result
  end
  local number = most_of(topic, most, first_score(topic, only))
  local given = number > 0 and lease_due(topic, number, nonce, lease_ms, result, only) or 0
  local left, next_at = most_of(topic, most, first_score(topic, only))
  result[3], result[4] = left > 0 and 1 or 0, next_at
  -- If all leased jobs have expired, the worker gets no job, and nothing is stored under its key, because the caller
  -- repeats the request with the same key.
  if given > 0 and once ~= '-' then keep_leases(once, nonce, result, lease_ms) end
  if given == 0 and left < 1 and wait_ms > 0 then Turns.await(topic, clock.lease_now + wait_ms) end
  return result
end

script('lease', {'allow-oom'}, {
  Attempts, Fifo, Holds, Idempotency, Lanes, Leases, Limits, Names, Openings, Places, Ranks, Rates, Records, Stream, Turns, Waited
}, function()
  if (#ARGV - 1) % SIZE ~= 0 then error('wrong number of arguments') end
  for i = 2, #ARGV, SIZE do
    if not string.match(ARGV[i], '^[^/]+$') then error('not a topic') end
    if Leases.holder(ARGV[i + 2]) ~= WORKERS then error('not a nonce') end
    for k = 1, 4 do
      if k ~= 2 and not string.match(ARGV[i + k], '^%d+$') then error('not a number') end
    end
  end
  probe()
  has_record = false
  local replies = {now_us}
  for i = 2, #ARGV, SIZE do
    local topic, most, nonce, lease_ms, wait_ms, once, key = unpack(ARGV, i, i + SIZE - 1)
    replies[#replies + 1] = lease(topic, tonumber(most), nonce, tonumber(lease_ms), tonumber(wait_ms), once, string.match(key, '^=(.*)$'))
  end
  Places.finish()
  return replies
end)
