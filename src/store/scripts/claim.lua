-- claim.lua - leases due jobs to a consumer. Topics that may be served are in the sorted set "turns" (lib/turns.lua),
-- and take turns. Only one of the jobs that have lost several consumers is leased at a time (lib/suspects.lua).
--
-- ARGV[2] maximum number of jobs   [3] nonce   [4] lease, ms   [5] maximum number of jobs of one topic in a
--      row, while other topics are ready
-- ARGV[6] maximum bytes of records; the first job is always returned, however long its record is
-- ARGV[7] 0: only claims; 1: first offers topics whose time in "due" has come, as carry.lua does, because the caller's
--      carry worker has found such topics; 2: the same, and no other process has a carry worker to wake
-- Returns {now_us, number of topics that still have due jobs, version of the last record of a receiver (report.lua),
-- number of jobs, then for each job: id, due, record; due is the text '<due> <time>' if the job was held, or its topic
-- paused, until this time. Then topic, settings for each topic that has settings and has one
-- of these jobs or was skipped, because its settings cannot be read or need a later version (only a few skipped topics
-- are returned). If requests wait for jobs (lib/waited.lua), '!' and 'waited' follow. If ARGV[7] is not 0, the next due time or -1 follows}.

local left, note, share, bytes_left
local READ_AT_ONCE = 16 -- records
local HEAD = 4 -- number of replies before the first job
local replies, deadline
local leases -- deadline, id, deadline, id ... written at the end
local leased -- number of jobs
local any_settings -- the result of has_settings

-- Returns how many jobs of a topic may be leased now (maximum: most), and the topic's limit of jobs in flight.
local function most_of(topic, most)
  if any_settings then return Serving.most(topic, most) end
  Turns.in_flight[topic] = Turns.in_flight[topic] or call('HLEN', holders_of(topic))
  return math.min(most, Turns.default_limit - Turns.in_flight[topic]), Turns.default_limit
end

-- When the jobs of a topic are long overdue, a quarter of the jobs that a claim leases are the ones that became due
-- last, so that a new job does not wait for all retries before it. A topic with a low limit of jobs in flight keeps its
-- order.
local BEHIND_MS, NEWEST_LIMIT = 500, 8
local function take_newest(turn, most)
  local quarter = turn.limit < NEWEST_LIMIT and 0 or most < 4 and (now_us % 4 == 0 and 1 or 0) or math.floor(most / 4)
  if quarter == 0 then return end
  local last = call('ZREVRANGEBYSCORE', bucket_of(turn.topic), '(' .. integer(due_before), '-inf', 'WITHSCORES', 'LIMIT', 0, quarter)
  local kept = most - quarter
  if kept > 0 and tonumber(last[#last]) <= tonumber(turn.scores[kept]) then return end
  for i = 1, #last / 2 do
    turn.ids[kept + i], turn.scores[kept + i], turn.times[kept + i] = last[2 * i - 1], last[2 * i], tonumber(last[2 * i])
  end
  turn.is_front = false
end

-- Reads the first due jobs in a topic's bucket, the sorted set of its waiting jobs (maximum: most). Sets turn.next to
-- the score of the next job in the bucket, or to false at the end of the bucket. At light load one job is due and many
-- wait, so the first read is short. Each read is longer than the one before.
local function read_due_places(turn, most)
  local ids, scores, times, number = turn.ids, turn.scores, turn.times, 0
  turn.next = false
  local from, to = '0', '1'
  repeat
    local places = call('ZRANGE', bucket_of(turn.topic), from, to, 'WITHSCORES')
    turn.first = turn.first or places[2]
    for i = 1, #places, 2 do
      local time = tonumber(places[i + 1])
      if number == most or time >= due_before then
        turn.next = places[i + 1]
        return
      end
      number = number + 1
      ids[number], scores[number], times[number] = places[i], places[i + 1], time
    end
    local is_end = number <= tonumber(to)
    from, to = to + 1, math.min(8 * to + 7, most)
  until is_end
end

-- Leaves the last jobs of a turn, too few for a batch, to a later claim, unless the first of them has waited for
-- batch.wait.
local function leave_rest(turn)
  local batch, number = settings_of(turn.topic).batch, #turn.ids
  local rest = batch and number % batch.size or 0
  local from = number - rest + 1
  if rest == 0 or rest == number or not Rates.batch_opens(batch, ms_of(turn.scores[from])) then return end
  turn.next = turn.scores[from]
  for i = number, from, -1 do turn.ids[i], turn.scores[i], turn.times[i] = nil, nil, nil end
end

-- Chooses the jobs of a turn by their lanes (lib/lanes.lua).
local function choose_of_lanes(turn, most)
  turn.ids, turn.scores, turn.times, turn.lanes = Lanes.choose(turn.topic, most, Turns.A_JOB)
  turn.first, turn.next, turn.is_front, turn.begun = turn.scores[1], false, false, {}
  if turn.first and turn.has_rate then turn.first = integer(Rates.first_due_of(turn.topic)) end
end

local next_suspect, is_suspect_leased -- the suspect that this claim may lease, and whether it has leased it

-- Decides whether this claim may lease a suspect (lib/suspects.lua).
local function may_lease_suspect(id)
  if next_suspect == nil then
    local place = has(SUSPECTS) and Suspects.first()
    next_suspect = not (place and Suspects.is_attempted(place)) and id
  end
  return next_suspect == id
end

-- Removes the suspects that this claim may not lease from a turn, and sets them aside.
local function set_suspects_aside(turn)
  local crashes, topic, ids, scores, times, dues = call('HMGET', CRASHES, unpack(turn.ids)), turn.topic, {}, {}, {}, {}
  for i = 1, #crashes do
    local id, due = turn.ids[i], turn.dues[i] or turn.scores[i]
    if Attempts.losses_in(crashes[i]) < Suspects.LOSSES or may_lease_suspect(id) then
      local at = #ids + 1
      ids[at], scores[at], times[at], dues[at] = id, turn.scores[i], turn.times[i], turn.dues[i]
    else
      Places.put_for_retry(id, due, now + Suspects.WAIT_MS)
      Holds.add(topic, id, due)
      call('ZADD', SUSPECTS, integer(now), id)
      is_there[SUSPECTS] = true
    end
  end
  turn.aside = #crashes - #ids
  if turn.aside == 0 then return end
  left = left - turn.aside -- limits the work of this call
  Places.write(topic, Places.new[topic])
  Places.new[topic] = nil
  turn.ids, turn.scores, turn.times, turn.dues, turn.is_front = ids, scores, times, dues, false
end

local NONE_HELD = {}
-- Plans the turn of a topic: selects the due jobs to lease (maximum: most), with their scores. turn.next is the score
-- of the job behind them in the bucket, or false if there is no other job.
local function plan_turn(topic, most, score, weight)
  local turn = {topic = topic, score = score, weight = weight, ids = {}, scores = {}, times = {}, dues = NONE_HELD, taken = 0, leased = 0, aside = 0,
    holders = {}, shared = any_settings and Limits.of(topic), spending = 0, is_front = true}
  turn.has_rate = any_settings and settings_of(topic).rate or turn.shared
  turn.is_streamed = any_settings and settings_of(topic).events
  most, turn.limit = most_of(topic, most)
  if most < 1 then return turn end
  if any_settings and is_fifo(topic) then turn.is_front = false end -- so that Turns.offer() reads the bucket again
  if has_lanes and Lanes.are_used(topic) then
    choose_of_lanes(turn, most)
  else
    read_due_places(turn, most)
    if any_settings then leave_rest(turn) end
  end
  local number = #turn.ids
  if number == most and tonumber(turn.first) <= now - BEHIND_MS and turn.next and is_due(turn.next) then take_newest(turn, most) end
  if number > 0 and has(RESUMED) then turn.resumed = tonumber(call('ZSCORE', RESUMED, topic) or 0) end
  if number > 0 and has(HELD) then turn.dues = Holds.dues(topic, turn.ids) end
  if number > 0 and has(CRASHES) then set_suspects_aside(turn) end
  if turn.shared then Limits.plan(turn.shared, #turn.ids) end
  return turn
end

-- Leases the next job of a turn. An id without a record, or a text that is not an id, is removed with all its
-- data. A job that has expired is leased, too: the consumer buries it without an attempt, so it does not count for
-- the rate. Returns false if this call has returned enough bytes.
local function lease(turn, record)
  if record and #record > bytes_left and leased > 0 then return false end
  local at = turn.taken + 1
  local id, held_due = turn.ids[at], turn.dues[at]
  local due, free_at = held_due and tonumber(held_due) or turn.times[at], held_due and turn.times[at] or turn.resumed
  if free_at and free_at <= now and math.floor(free_at) > math.floor(due) then
    due = integer(math.floor(due)) .. ' ' .. integer(math.floor(free_at))
  end
  turn.taken = at
  if not record or #id < #turn.topic + 2 then
    Attempts.forget_all(id)
    return true
  end
  local lease_at, reply_at, holder_at, holders = 2 * leased, HEAD + 3 * leased, 2 * turn.leased, turn.holders
  bytes_left, left, leased, turn.leased = bytes_left - #record, left - 1, leased + 1, turn.leased + 1
  leases[lease_at + 1], leases[lease_at + 2] = deadline, id
  holders[holder_at + 1], holders[holder_at + 2] = id, note .. (held_due or turn.scores[at])
  replies[reply_at + 1], replies[reply_at + 2], replies[reply_at + 3] = id, due, record
  if id == next_suspect then is_suspect_leased = true end
  if turn.is_streamed and not Records.is_expired(record) then Stream.add(turn.topic, id, 'begun') end
  if (turn.has_rate or turn.lanes) and not Records.is_expired(record) then
    turn.spending = turn.spending + 1
    if turn.lanes then turn.begun[#turn.begun + 1] = id end
  end
  return true
end

-- Reads the records of the planned jobs of all turns, some at a time, and leases the jobs. Returns the number of turns
-- that were processed.
local function lease_all(turns)
  local ids, owners = {}, {}
  local number = 0
  for t = 1, #turns do
    local its_ids = turns[t].ids
    for i = 1, #its_ids do
      number = number + 1
      ids[number], owners[number] = its_ids[i], t
    end
  end
  for from = 1, number, READ_AT_ONCE do
    local to = math.min(from + READ_AT_ONCE - 1, number)
    local records = call('HMGET', JOBS, unpack(ids, from, to))
    for i = from, to do
      local owner = owners[i]
      if bytes_left <= 0 and owner > owners[i - 1] then return owners[i - 1] end
      if not lease(turns[owner], records[i - from + 1]) then
        bytes_left = 0
        return owner
      end
    end
    if bytes_left <= 0 then return owners[to] end
  end
  return #turns
end

local served, is_served
local function end_turn(turn)
  local topic, is_whole = turn.topic, turn.taken == #turn.ids
  if turn.taken > 0 then
    local ids = is_whole and turn.ids or {unpack(turn.ids, 1, turn.taken)}
    if turn.is_front and is_whole then Places.leave_front(topic, ids, not turn.next) else Places.leave_bucket(topic, ids) end
  end
  if turn.first and not is_served[topic] then
    is_served[topic] = true
    served[#served + 1] = topic
  end
  if turn.leased > 0 then
    call('HSET', holders_of(topic), unpack(turn.holders))
    Turns.in_flight[topic] = Turns.in_flight[topic] + turn.leased
    Names.keep(topic)
    if has_lanes then Lanes.begin_attempts(topic, turn.holders) end
  end
  if turn.lanes and turn.taken > 0 then
    Lanes.served(topic, turn.lanes, {unpack(turn.ids, 1, turn.taken)}, turn.begun, turn.leased == turn.taken, Turns.A_JOB)
  end
  if turn.has_rate and turn.spending > 0 then Rates.spend(topic, turn.spending, tonumber(turn.first)) end
  Turns.next_scores[topic] = turn.taken > 0 and turn.score + math.ceil(turn.taken * Turns.A_JOB / turn.weight) or nil
  Turns.first_scores[topic], Turns.carried_times[topic] = nil, nil -- the bucket has changed
  if turn.is_front and is_whole then Turns.first_scores[topic] = turn.next end
  Turns.offer(topic)
end

-- Serves the first topics in turns, one after the other. Topics that still have due jobs then move to the end. A turn
-- may lease no job: if ids in the bucket have no records, the clock has stepped back, or the topic's limit was lowered.
-- rounds is the number of topics that this call may still process. If a claim reaches its limit of bytes, the
-- remaining topics keep their turns.
local TURNS_AT_ONCE = 64
local VIRTUAL_MAX = 2251799813685248 -- 2^51: scores above 2^53 are not exact
local rounds
local function has_work() return left > 0 and bytes_left > 0 and rounds > 0 end

local are_all_over -- no topic is in turns any more
local function take_turns(carried)
  local last = math.min(TURNS_AT_ONCE - 1, left)
  local found = carried or call('ZRANGE', TURNS, '0', last, 'WITHSCORES')
  local topics, scores, turns, planned = {}, {}, {}, 0
  for i = 1, #found / 2 do topics[i], scores[i] = found[2 * i - 1], tonumber(found[2 * i]) end
  local is_alone = #topics == 1 -- no other topic waits for a turn
  local is_full
  local due_again = math.huge -- virtual time of the next turn of a topic with a weight
  if #topics > 1 and any_settings then fetch_settings(topics) end
  Turns.look_at_holders(topics, left)
  for i = 1, #topics do
    if planned >= left or rounds < 1 or scores[i] > due_again then break end
    local batch = any_settings and settings_of(topics[i]).batch
    is_full = batch and left - planned < batch.size and leased + planned > 0
    if is_full then break end -- the topic has the first turn of the next claim, which has room for its batch
    rounds = rounds - 1
    local weight = any_settings and settings_of(topics[i]).weight or 1
    local most = weight == 1 and share or Serving.share_before_next(i, weight, scores, turns, share)
    most = is_alone and left or math.min(most, left - planned)
    if batch then most = math.min(left - planned, math.max(1, math.floor(most / batch.size)) * batch.size) end
    turns[i] = plan_turn(topics[i], most, scores[i], weight)
    local number = #turns[i].ids
    planned = planned + number
    if weight > 1 and number > 0 then due_again = math.min(due_again, scores[i] + number * Turns.A_JOB / weight) end
  end
  if is_full and #turns == 0 then
    are_all_over = false
    return false
  end
  local ended = lease_all(turns)
  Limits.end_plans()
  for i = 1, ended do
    local turn = turns[i]
    if turn.shared and turn.leased > 0 then
      Limits.begin_attempts(turn.topic, turn.shared, Turns.in_flight[turn.topic] + turn.leased, turn.spending, tonumber(turn.first))
    end
  end
  for i = 1, ended do end_turn(turns[i]) end
  Places.delete_buckets()
  are_all_over = #topics <= last and ended == #topics and #Turns.added == 0
  local is_stuck = is_alone and Turns.added[1] and turns[1].taken + turns[1].aside == 0
  if carried then
    Turns.removed = {} -- no topic is in turns
  elseif is_alone then
    Turns.added = {} -- the topic keeps its turn
  end
  Turns.write(true)
  if not is_alone and scores[1] and scores[1] > VIRTUAL_MAX then Serving.renumber(scores[1]) end
  return not are_all_over and not is_stuck and not is_full
end

-- Offers topics whose time in "due" has come (lib/turns.lua), at most CARRY_MAX. No lock is needed, because it does
-- no harm if the carry worker offers the same topics. The carry worker offers the remaining topics. If only one topic
-- is due and no topic is in turns, this topic is served at once: carry returns it with a score, as ZRANGE would
-- return it from turns.
local CARRY_MAX = 64 -- topics
local function carry()
  local topics = Turns.topics_to_carry(now, CARRY_MAX)
  local waits = #topics == 1 and any_settings and settings_of(topics[1]).batch -- for its batch, see Turns.offer
  if #topics == 1 and not waits and not (has_lanes and Lanes.state(topics[1])) and call('EXISTS', TURNS) == 0 then
    -- the time in due that follows this topic's
    if ARGV[7] == '1' then Turns.first_before = tonumber(call('ZRANGE', DUE, '1', '1', 'WITHSCORES')[2] or 'inf') end
    return {topics[1], '1'}
  end
  if #topics > 1 and any_settings then fetch_settings(topics) end
  Turns.look_at_holders(topics, CARRY_MAX)
  for i = 1, #topics do Turns.offer(topics[i]) end
  Turns.write()
end

script('claim', {'allow-oom'}, {
  Attempts, Expiries, Holds, Lanes, Limits, Names, Places, Rates, Records, Serving, Stream, Suspects, Turns, Waited
}, function()
  left, note, share, bytes_left = tonumber(ARGV[2]), ARGV[3] .. ' ', tonumber(ARGV[5]), tonumber(ARGV[6])
  local lease_ms = tonumber(ARGV[4])
  replies, deadline = {now_us, 0, 0, 0}, integer(clock.lease_now + lease_ms)
  leases, leased = {}, 0
  next_suspect, is_suspect_leased = nil, nil
  Turns.next_scores = {}
  served, is_served, rounds, are_all_over = {}, {}, 2 * left, false
  probe()
  any_settings = has_settings()
  local carried = ARGV[7] ~= '0' and carry() or nil
  if ARGV[7] == '2' then Turns.first_before = 0 end -- no other process has a carry worker to wake, so wake publishes nothing
  while has_work() and take_turns(carried) do carried = nil end
  if leased > 0 then call('ZADD', CONSUMERS.leases, unpack(leases)) end
  if Waited.is_used() then Waited.note_moved(leases) end
  if next(Limits.touched) then
    Turns.let_in()
    are_all_over = false
  end
  if has_lanes then
    Lanes.for_each_touched(Lanes.offer_touched)
    Lanes.write()
  end
  if is_suspect_leased then Suspects.note_attempted(next_suspect, ARGV[3]) end
  Places.write_number()
  if has(HELD) then Holds.write() end
  Expiries.write()
  Names.write()
  local is_idle, ready = #Serving.passed > 0 and leased == 0, are_all_over and 0 or call('ZCARD', TURNS)
  if ready > 0 and not is_idle then Turns.ring() end
  Turns.wake()
  replies[2] = is_idle and 0 or ready
  replies[3] = tonumber(call('HGET', base .. 'receivers', 'version')) or 0
  replies[4] = leased
  for i = 1, #Serving.passed do served[#served + 1] = Serving.passed[i] end
  if any_settings then add_settings(replies, served) end
  if Waited.is_used() then
    replies[#replies + 1] = '!'
    replies[#replies + 1] = 'waited'
  end
  if ARGV[7] ~= '0' then
    local next_due = tonumber(call('ZRANGE', DUE, '0', '0', 'WITHSCORES')[2] or 'inf')
    replies[#replies + 1] = next_due < math.huge and next_due or -1
  end
  return replies
end)
