-- lanes.lua - lanes: the jobs of one topic and key. The lanes of a topic take turns, and in a lane the job with the highest
-- priority goes first.
--
-- A waiting job of any key is in the bucket of its topic (places.lua), which stays the only place of waiting jobs. Lanes are an index of
-- the bucket, which claims use; an entry that is not the bucket's is corrected when it is met. A topic has this index
-- when a job with a rank (ranks.lua) has come, until it has no jobs. The jobs without a key are a lane, too, whose key is
-- empty.
--
-- LANES has the topics with lanes: topic -> 'cursor priorities mark'.
--   cursor      the jobs that came before the index are added to it in steps: it has those whose score is not above
--               cursor; 'inf': all
--   priorities  the digits of the priorities that jobs of the topic have had
--   mark        identifies the settings with which lanes were offered last, see restart
-- The field '' exists while keys have settings of their own, so that one query finds out whether there are any.

local Lanes = {uses = {Fifo, Ranks, Rates}}

-- The attempts of a lane in flight: a set with fields of holders:<topic>.
local function in_flight_key(topic, key) return base .. 'lane_leases:' .. topic .. '\n' .. key end
-- Keys whose jobs may be served now -> virtual time, as in "turns"; and other keys with waiting jobs -> when they are
-- offered next, as in "due" (turns.lua).
local function turns_key(topic) return base .. 'lanes_turns:' .. topic end
local function due_key(topic) return base .. 'lanes_due:' .. topic end
-- Keys that were in "due" when settings of lanes changed, and have not been offered since.
local function again_key(topic) return base .. 'lanes_again:' .. topic end
-- Keys with jobs or with settings of their own -> number of jobs, waiting and in flight.
function Lanes.pending_key(topic) return base .. 'lanes_pending:' .. topic end

-- The settings, the rate and the line of a lane are those of this name (settings.lua, rates.lua, fifo.lua).
function Lanes.name(topic, key) return topic .. '\n' .. key end

-- ---- topics with lanes ----

local states = {} -- cache of this call: topic -> what LANES has of it, or false
function Lanes.state(topic)
  if not has(LANES) then return end
  local state = states[topic]
  if state == nil then
    local cursor, priorities, mark = string.match(call('HGET', LANES, topic) or '', '^(%S+) (%d+) (%S+)$')
    state = cursor and {cursor = cursor, priorities = priorities, mark = mark} or false
    states[topic] = state
  end
  return state
end

local function change_state(topic, member, value)
  states[topic][member] = value
  states[topic].is_changed = true
end

-- Returns whether claims choose the topic's jobs by their lanes.
function Lanes.are_used(topic) return Lanes.state(topic) and not is_fifo(topic) end

local function turn_on(topic, rank)
  local state = Lanes.state(topic)
  local priority = string.sub(rank, 1, 1)
  if state and string.find(state.priorities, priority, 1, true) then return end
  if not state then
    raise_format(FORMAT.LANES)
    is_there[LANES], has_lanes = true, true
    states[topic] = {cursor = '-inf', priorities = '5', mark = '-'}
    state = states[topic]
  end
  local priorities = string.find(state.priorities, priority, 1, true) and state.priorities or state.priorities .. priority
  change_state(topic, 'priorities', priorities)
end

-- ---- touched lanes ----

local touched = {} -- topic -> list of keys, and key -> true
local function touch(topic, key)
  local list = touched[topic]
  if not list then
    list = {has = {}}
    touched[topic] = list
  end
  if list.has[key] then return end
  list.has[key] = true
  list[#list + 1] = key
end

-- Calls do_with(topic) for each topic whose lanes this call has changed.
function Lanes.for_each_touched(do_with)
  for topic in pairs(touched) do do_with(topic) end
end

-- ---- jobs that come and go ----

-- Calls do_with(rank, list) for each rank of these ids. list: the ids with this rank, each with its score before it if
-- scores are given.
local function for_each_rank(ids, scores, do_with)
  local ranks, order, lists = Ranks.of_all(ids), {}, {}
  for i = 1, #ids do
    local list = lists[ranks[i]]
    if not list then
      list = {}
      lists[ranks[i]] = list
      order[#order + 1] = ranks[i]
    end
    if scores then list[#list + 1] = scores[i] end
    list[#list + 1] = ids[i]
  end
  for i = 1, #order do do_with(order[i], lists[order[i]]) end
end

-- Adds entries of the bucket to the index.
local function add_to_index(topic, ids, scores)
  for_each_rank(ids, scores, function(rank, list)
    turn_on(topic, rank) -- the priority is known to LANES, even if it was lost there
    call('ZADD', lane_of(topic, rank), unpack(list))
    touch(topic, Ranks.key_in(rank))
  end)
end

-- Called when entries are written to a bucket. list: score, id, score, id ...
function Lanes.put(topic, list)
  if not Lanes.state(topic) then return end
  local ids, scores = {}, {}
  for i = 1, #list, 2 do scores[#scores + 1], ids[#ids + 1] = list[i], list[i + 1] end
  add_to_index(topic, ids, scores)
end

-- Called when ids leave a bucket.
function Lanes.leave(topic, ids)
  if not Lanes.state(topic) then return end
  for_each_rank(ids, nil, function(rank, list)
    call('ZREM', lane_of(topic, rank), unpack(list))
    touch(topic, Ranks.key_in(rank))
  end)
end

-- Gives a job another rank. If it waits, it moves to the lane of this rank.
local function set_rank(id, rank)
  local topic, old = topic_of(id), Ranks.of(id)
  if rank ~= Ranks.PLAIN then turn_on(topic, rank) end
  if rank == old or not Lanes.state(topic) then return end
  local score = call('ZSCORE', bucket_of(topic), id)
  if score then Lanes.leave(topic, {id}) end
  Ranks.set(id, rank)
  if score then add_to_index(topic, {id}, {score}) end
end

-- Notes the rank of a new job, before it is put into its bucket. record: as the C code has written it.
function Lanes.note_new(id, record)
  local never, _, _, _, _, _, flag = string.byte(record, 11, 17)
  if never == 48 and flag ~= 107 and not has_lanes then return end -- the usual beginning: without expiry, key and priority
  local rank = Ranks.in_record(record)
  if rank then
    local topic, old = topic_of(id), Ranks.known(id)
    turn_on(topic, rank)
    if old and old ~= rank then Lanes.leave(topic, {id}) end -- a job that this call has replaced
    Ranks.set(id, rank)
  elseif has_lanes and (Ranks.known(id) or Ranks.PLAIN) ~= Ranks.PLAIN then
    Lanes.leave(topic_of(id), {id})
    Ranks.set(id, Ranks.PLAIN)
  end
end

-- Notes this rank of a job that is put into its bucket next.
function Lanes.note_rank(id, rank)
  if rank == Ranks.PLAIN then return end
  turn_on(topic_of(id), rank)
  Ranks.set(id, rank)
end

-- Notes the rank of a job whose record has been changed. old: the record before, if a rank that is the same in both stays.
function Lanes.note_changed(id, record, old)
  local rank = Ranks.in_record(record) or Ranks.PLAIN
  if old and rank == (Ranks.in_record(old) or Ranks.PLAIN) then return end
  if rank ~= Ranks.PLAIN or has(RANKS) then set_rank(id, rank) end
end

-- Gives a job whose attempt has failed the priority that the topic's setting retryPriority names.
function Lanes.note_retry(id)
  local priority = has_settings() and settings_of(topic_of(id)).retryPriority
  if priority then set_rank(id, Ranks.with_priority(Ranks.of(id), priority)) end
end

-- ---- attempts in flight ----

-- Called when fields are added to holders:<topic>, and when they are removed. holders: field, value, field, value ...
function Lanes.begin_attempts(topic, holders)
  if not Lanes.state(topic) or #holders == 0 then return end
  local fields = {}
  for i = 1, #holders, 2 do fields[#fields + 1] = holders[i] end
  for_each_rank(fields, nil, function(rank, list) call('SADD', in_flight_key(topic, Ranks.key_in(rank)), unpack(list)) end)
end

function Lanes.end_attempts(topic, fields)
  if not Lanes.state(topic) then return end
  for_each_rank(fields, nil, function(rank, list)
    call('SREM', in_flight_key(topic, Ranks.key_in(rank)), unpack(list))
    touch(topic, Ranks.key_in(rank))
  end)
end

-- Called when the job of an attempt is cancelled, and the attempt lingers under the name place (lingering.lua).
function Lanes.linger(id, place)
  if not Lanes.state(topic_of(id)) then return end
  Ranks.set(place, Ranks.of(id))
  Ranks.write()
  Lanes.begin_attempts(topic_of(id), {place, ''})
end

-- ---- what holds a lane ----

-- Returns the score of the first waiting job of a lane, and its id, or nothing. Also returns the priorities of its jobs.
local function head_of(topic, key)
  local priorities, head, head_id, found_priorities = Lanes.state(topic).priorities, nil, nil, ''
  for i = 1, #priorities do
    local priority = string.sub(priorities, i, i)
    local found = call('ZRANGE', lane_of(topic, priority .. key), '0', '0', 'WITHSCORES')
    if found[2] then
      found_priorities = found_priorities .. priority
      if not head or tonumber(found[2]) < tonumber(head) then head, head_id = found[2], found[1] end
    end
  end
  return head, head_id, found_priorities
end

function Lanes.in_flight(topic, key) return call('SCARD', in_flight_key(topic, key)) end

local function limit_of(own) return own.order == 'fifo' and 1 or own.maxInFlight end

-- Keeps the job whose retry the lane's line waits for before all others, as Fifo.keep_first does for topics. If the lane
-- is not fifo any more, the job gets the time of its retry as its place. Returns the head of the lane.
local LINE_STEP = 1 / 2048 -- as in places.lua
local function keep_line(topic, key, own, head, head_id)
  local name = Lanes.name(topic, key)
  local at, score, id = Fifo.line(name)
  if not at or id == head_id and tonumber(score) == tonumber(head) and own.order == 'fifo' then return head, head_id end
  local place = call('ZSCORE', bucket_of(topic), id)
  local is_right = head and place and tonumber(place) == tonumber(score)
  if is_right and own.order == 'fifo' then
    at, score = math.max(tonumber(at), ms_of(score)), string.format('%.17g', tonumber(head) - LINE_STEP)
    Fifo.move(id, score)
    Fifo.write_line(name, at, score, id)
    return score, id
  end
  if is_right and tonumber(at) > ms_of(place) then Fifo.move(id, at) end
  call('HDEL', LINES, name)
  return head_of(topic, key)
end

-- Returns how many attempts of a lane may begin now (maximum: most), and if none may, the time at which more may, ms, or
-- 'inf' if this does not depend on time, and what holds the lane, as a word of the API. head, head_id: the first waiting job, which is due.
local function room_of(topic, key, most, head, head_id, is_offer)
  local name = Lanes.name(topic, key)
  local own = settings_of(name)
  local batch = settings_of(topic).batch
  local batch_at = batch and Rates.batch_at(topic, lane_of(topic, Ranks.of(head_id)), ms_of(head))
  if batch_at then return 0, batch_at, 'batch' end
  if own == NO_SETTINGS then return most end
  if own.paused or own == UNREADABLE then return 0, 'inf', 'paused' end
  local limit = limit_of(own)
  if limit then most = math.min(most, limit - Lanes.in_flight(topic, key)) end
  if most < 1 then return 0, 'inf', own.order == 'fifo' and 'order' or 'maxInFlight' end
  local line_at = own.order == 'fifo' and Fifo.wait_at(name, head_id, head)
  if line_at then return 0, line_at, 'order' end
  if not own.rate then return most end
  local tokens, next_at = Rates.tokens(name, tonumber(head), is_offer)
  if tokens < 1 then return 0, integer(next_at), 'rate' end
  return math.min(most, tokens)
end

-- ---- offering a lane ----

local turns_added, due_added, turns_removed, due_removed -- changes of the lanes of one topic, which is being offered
local function begin_offers() turns_added, due_added, turns_removed, due_removed = {}, {}, {}, {} end

-- Decides whether a lane may be served, as Turns.offer does for topics. turn: its next virtual time, if it has been
-- served. Returns the priorities of its waiting jobs.
local function offer(topic, key, turn)
  local head, head_id, priorities = head_of(topic, key)
  if has(LINES) then
    head, head_id = keep_line(topic, key, settings_of(Lanes.name(topic, key)), head, head_id)
  end
  if not head then
    turns_removed[#turns_removed + 1], due_removed[#due_removed + 1] = key, key
    return priorities
  end
  local at = integer(ms_of(head))
  if is_due(head) then
    local _, until_ms = room_of(topic, key, 1, head, head_id, true)
    at = until_ms
  end
  if at then
    due_added[#due_added + 1], due_added[#due_added + 2] = at, key
    turns_removed[#turns_removed + 1] = key
  else
    turns_added[#turns_added + 1], turns_added[#turns_added + 2] = turn or false, key
    due_removed[#due_removed + 1] = key
  end
  return priorities
end

local function write_offers(topic)
  if #due_removed > 0 then call('ZREM', due_key(topic), unpack(due_removed)) end
  if #turns_removed > 0 then call('ZREM', turns_key(topic), unpack(turns_removed)) end
  if #due_added > 0 then call('ZADD', due_key(topic), unpack(due_added)) end
  local last, served, new = nil, {}, {}
  for i = 1, #turns_added, 2 do
    local list = turns_added[i] and served or new
    if not turns_added[i] then
      last = (last or tonumber(call('ZRANGE', turns_key(topic), '0', '0', 'REV', 'WITHSCORES')[2] or 0)) + 1
    end
    list[#list + 1], list[#list + 2] = integer(turns_added[i] or last), turns_added[i + 1]
  end
  if #served > 0 then call('ZADD', turns_key(topic), unpack(served)) end
  if #new > 0 then call('ZADD', turns_key(topic), 'NX', unpack(new)) end
end

-- Notes the number of jobs of a lane. priorities: those of its waiting jobs. A lane without jobs is forgotten with its
-- line, unless its key has settings of its own.
local function count(topic, key, priorities)
  local number = Lanes.in_flight(topic, key)
  for i = 1, #priorities do number = number + call('ZCARD', lane_of(topic, string.sub(priorities, i, i) .. key)) end
  if number > 0 or has(KEY_SETTINGS) and call('HEXISTS', KEY_SETTINGS, Lanes.name(topic, key)) == 1 then
    call('ZADD', Lanes.pending_key(topic), number, key)
  else
    call('ZREM', Lanes.pending_key(topic), key)
    if has(LINES) then call('HDEL', LINES, Lanes.name(topic, key)) end
  end
end

-- Offers the lanes that this call has touched.
function Lanes.offer_touched(topic)
  local keys = touched[topic]
  if not keys or not Lanes.state(topic) then return end
  touched[topic] = nil
  begin_offers()
  for i = 1, #keys do
    if keys.has[keys[i]] then
      keys.has[keys[i]] = nil
      count(topic, keys[i], offer(topic, keys[i]))
    end
  end
  write_offers(topic)
end

-- ---- steps before a topic is offered ----

local STEP = 64 -- lanes, or jobs that come into the index

-- Adds jobs to the index that were there before it.
local function adopt(topic, state)
  if state.cursor == 'inf' then return end
  local bucket = bucket_of(topic)
  local from = state.cursor == '-inf' and '-inf' or '(' .. state.cursor
  local found, ids, scores = call('ZRANGE', bucket, from, '+inf', 'BYSCORE', 'LIMIT', '0', STEP, 'WITHSCORES'), {}, {}
  for i = 1, #found, 2 do ids[#ids + 1], scores[#scores + 1] = found[i], found[i + 1] end
  local last = found[#found]
  if #ids == STEP then
    local same = call('ZRANGE', bucket, last, last, 'BYSCORE')
    for i = 1, #same do ids[#ids + 1], scores[#scores + 1] = same[i], last end
  end
  for first = 1, #ids, STEP do
    local last_one = math.min(first + STEP - 1, #ids)
    add_to_index(topic, {unpack(ids, first, last_one)}, {unpack(scores, first, last_one)})
  end
  change_state(topic, 'cursor', #found == 2 * STEP and last or 'inf')
end

-- Offers all lanes again, in steps, when settings on which they depend have changed, or Redis's clock has stepped back:
-- a lane may wait for what is no longer so.
local function restart(topic, state)
  local mark = string.sub(redis.sha1hex(settings_text_of(topic) .. '\n' .. (call('HGET', META, 'lanes_again') or '')), 1, 12)
  if mark == state.mark or call('EXISTS', again_key(topic)) == 1 then return end
  change_state(topic, 'mark', mark)
  if call('EXISTS', due_key(topic)) == 1 then call('RENAME', due_key(topic), again_key(topic)) end
end

-- Called when all lanes must be offered again, because the clock has stepped back.
function Lanes.start_again() call('HSET', META, 'lanes_again', integer(now_us)) end

local function offer_again(topic)
  local found = call('ZRANGE', again_key(topic), '0', STEP - 1)
  if #found == 0 then return false end
  call('ZREM', again_key(topic), unpack(found))
  for i = 1, #found do touch(topic, found[i]) end
  return #found == STEP
end

local function carry(topic)
  local found = call('ZRANGE', due_key(topic), '-inf', now, 'BYSCORE', 'LIMIT', '0', STEP)
  for i = 1, #found do touch(topic, found[i]) end
  return #found == STEP
end

-- Forgets the lanes of a topic that has no jobs.
local function turn_off(topic)
  if call('EXISTS', holders_of(topic)) == 1 then return end
  call('HDEL', LANES, topic)
  states[topic], touched[topic] = false, nil
  call('UNLINK', due_key(topic), turns_key(topic), again_key(topic))
end

-- Keeps the index of a fifo topic, whose claims do not use it.
function Lanes.rest(topic)
  Lanes.offer_touched(topic)
  if call('EXISTS', bucket_of(topic)) == 0 then turn_off(topic) end
end

-- Returns the score of the first job of a topic that may be served, 'inf' if none will be by time alone, or false if the
-- topic has no waiting jobs. Also returns whether a job is due, even if its lane holds it; and true if the score only says
-- that the next step follows, because this one has offered as many lanes as it may.
function Lanes.front(topic)
  local state = Lanes.state(topic)
  local first_id, first = unpack(call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES'))
  if not first then
    Lanes.offer_touched(topic)
    turn_off(topic)
    return false, false
  end
  restart(topic, state)
  local again = offer_again(topic)
  if state.cursor == 'inf' and not call('ZSCORE', lane_of(topic, Ranks.of(first_id)), first_id) then change_state(topic, 'cursor', '-inf') end
  adopt(topic, state)
  local more = carry(topic)
  Lanes.offer_touched(topic)
  local key = call('ZRANGE', turns_key(topic), '0', '0')[1]
  local head = key and head_of(topic, key)
  if key and not (head and is_due(head)) then -- the clock has stepped back
    local lanes = call('ZRANGE', turns_key(topic), '0', STEP - 1)
    for i = 1, #lanes do touch(topic, lanes[i]) end
    Lanes.offer_touched(topic)
    key = call('ZRANGE', turns_key(topic), '0', '0')[1]
    head = key and head_of(topic, key)
    if key and not (head and is_due(head)) then return integer(now + 1), is_due(first), true end
  end
  if key then return head, is_due(first) end
  local next_at = call('ZRANGE', due_key(topic), '0', '0', 'WITHSCORES')[2] or 'inf'
  if again or more then return integer(now + 1), is_due(first), true end
  if state.cursor ~= 'inf' then
    local unknown = call('ZRANGE', bucket_of(topic), '(' .. state.cursor, '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')[2]
    if unknown and is_due(unknown) and now + 1 < tonumber(next_at) then return integer(now + 1), true, true end
    if unknown and not is_due(unknown) and tonumber(unknown) < tonumber(next_at) then next_at = unknown end
  end
  return next_at, is_due(first)
end

-- Returns the score of the first job of a lane if it may be served now, or when it may be, or nothing.
function Lanes.head(topic, key)
  touch(topic, key)
  Lanes.front(topic)
  if call('ZSCORE', turns_key(topic), key) then return (head_of(topic, key)) end
  local at = call('ZSCORE', due_key(topic), key)
  return at and at ~= 'inf' and at or nil
end

-- ---- choosing jobs ----

-- Returns the first due jobs of a lane (at least most, if there are as many) in the order in which they are attempted:
-- {id, rank, score, time} each. Also returns the one that has been due for the longest time.
local HOUR = 3600
local function due_of(topic, key, most)
  local priorities, list, head = Lanes.state(topic).priorities, {}, nil
  local own = settings_of(topic)
  local is_strict, age_ms = own.priorityAge == 'off', (tonumber(own.priorityAge) or HOUR) * 1000
  local is_line = settings_of(Lanes.name(topic, key)).order == 'fifo'
  for i = 1, #priorities do
    local priority = string.sub(priorities, i, i)
    local found = call('ZRANGE', lane_of(topic, priority .. key), '0', most - 1, 'WITHSCORES')
    for k = 1, #found, 2 do
      local time = tonumber(found[k + 1])
      if time >= due_before then break end
      local lead = is_line and 0 or is_strict and priority * 1e15 or priority * age_ms
      list[#list + 1] = {id = found[k], rank = priority .. key, score = found[k + 1], time = time, urgency = time - lead}
      if not head or time < head.time then head = list[#list] end
    end
  end
  if #priorities > 1 then
    table.sort(list, function(a, b)
      if a.urgency ~= b.urgency then return a.urgency < b.urgency end
      if a.time ~= b.time then return a.time < b.time end
      return a.id < b.id
    end)
  end
  return list, head
end

-- Reads the lanes whose turn it is: {key, turn, weight, jobs}. Lanes that nothing may begin in are touched.
local LANES_AT_ONCE, JOBS_AT_ONCE = 64, 8
local function read_lanes(topic, most, only)
  local found = only and {only, call('ZSCORE', turns_key(topic), only) or nil}
    or call('ZRANGE', turns_key(topic), '0', math.min(most, LANES_AT_ONCE) - 1, 'WITHSCORES')
  local lanes = {}
  for i = 1, #found - 1, 2 do
    local batch = settings_of(topic).batch
    local key, at_once = found[i], #found == 2 and most or math.min(most, math.max(batch and batch.size or 1, JOBS_AT_ONCE))
    local jobs, head = due_of(topic, key, at_once)
    local room = head and room_of(topic, key, at_once, head.score, head.id) or 0
    if room < 1 then
      touch(topic, key)
    else
      while #jobs > room do jobs[#jobs] = nil end
      lanes[#lanes + 1] = {key = key, turn = tonumber(found[i + 1]), jobs = jobs, first = head.time, taken = 0,
        weight = settings_of(Lanes.name(topic, key)).weight or 1, has_more = #jobs == at_once and at_once < most}
    end
  end
  return lanes
end

-- Returns the chosen jobs that wait and have this rank and score, as ids, scores as texts and scores as numbers. Corrects the
-- entries of the others in the index.
local function verify(topic, jobs)
  local ids, scores, times, number = {}, {}, {}, 0
  if #jobs == 0 then return ids, scores, times end
  for i = 1, #jobs do ids[i] = jobs[i].id end
  local right, ranks = call('ZMSCORE', bucket_of(topic), unpack(ids)), Ranks.of_all(ids)
  ids = {}
  for i = 1, #jobs do
    local job = jobs[i]
    if right[i] and tonumber(right[i]) == job.time and ranks[i] == job.rank then
      number = number + 1
      ids[number], scores[number], times[number] = job.id, job.score, job.time
    else
      call('ZREM', lane_of(topic, job.rank), job.id)
      touch(topic, Ranks.key_in(job.rank))
      if right[i] then add_to_index(topic, {job.id}, {right[i]}) end
    end
  end
  return ids, scores, times
end

-- Chooses due jobs of a topic (maximum: most): the lane with the lowest virtual time gives the next job. The choice ends
-- where it would need more jobs of a lane than were read, so that shares are those of the weights. A lane gives a batch of
-- jobs at once if the topic has batches. only: the key of the
-- only lane to choose from, or nothing. Returns ids, scores as texts, scores as numbers, and the lanes, for Lanes.served.
function Lanes.choose(topic, most, a_job, only)
  local lanes, chosen = read_lanes(topic, most, only), {}
  local batch = settings_of(topic).batch
  local run = batch and batch.size or 1
  while #chosen < most do
    local best
    for i = 1, #lanes do
      local lane = lanes[i]
      if (lane.jobs[lane.taken + 1] or lane.has_more) and (not best or lane.turn < best.turn) then best = lane end
    end
    local rest = best and #best.jobs - best.taken or 0
    if rest == 0 or rest < run and best.taken > 0 and best.has_more then break end
    if rest < run and best.taken > 0 and Rates.batch_opens(batch, ms_of(best.jobs[best.taken + 1].score)) then
      for i = #best.jobs, best.taken + 1, -1 do best.jobs[i] = nil end -- too few for a batch
    end
    for _ = 1, math.min(run, #best.jobs - best.taken, most - #chosen) do
      best.taken = best.taken + 1
      best.turn = best.turn + math.ceil(a_job / best.weight)
      chosen[#chosen + 1] = best.jobs[best.taken]
    end
  end
  local ids, scores, times = verify(topic, chosen)
  return ids, scores, times, lanes
end

-- Counts the ids of each key.
local function by_key(ids)
  local ranks, numbers = Ranks.of_all(ids), {}
  for i = 1, #ids do
    local key = Ranks.key_in(ranks[i])
    numbers[key] = (numbers[key] or 0) + 1
  end
  return numbers
end

-- Called when chosen jobs have left the bucket. lanes: from Lanes.choose. taken: their ids. begun: the
-- ids of the jobs that count for a rate. are_leased: all of them were leased; otherwise their lanes are counted again.
local TURN_MAX = 2251799813685248 -- 2^51: scores above 2^53 are not exact
function Lanes.served(topic, lanes, taken, begun, are_leased, a_job)
  local numbers, spent, is_high = by_key(taken), by_key(begun), false
  begin_offers()
  for i = 1, #lanes do
    local lane, number = lanes[i], numbers[lanes[i].key]
    if number then
      local name = Lanes.name(topic, lane.key)
      if spent[lane.key] and settings_of(name).rate then Rates.spend(name, spent[lane.key], lane.first) end
      local turn = lane.turn + (number - lane.taken) * math.ceil(a_job / lane.weight)
      offer(topic, lane.key, turn)
      if are_leased and touched[topic] then touched[topic].has[lane.key] = nil end
      is_high = is_high or turn > TURN_MAX
    end
  end
  write_offers(topic)
  if is_high then Lanes.renumber(topic) end
end

-- Lowers all virtual times, before they become too large to be exact. This happens once in years.
function Lanes.renumber(topic)
  if call('ZCARD', turns_key(topic)) > 1000 then return end
  local all = call('ZRANGE', turns_key(topic), '0', '-1', 'WITHSCORES')
  for i = #all, 2, -2 do all[i], all[i - 1] = all[i - 1], integer(math.max(1, all[i] - all[2])) end
  call('ZADD', turns_key(topic), unpack(all))
end

-- ---- reading ----

-- Returns the state of a lane: number of jobs, attempts in flight, score of its first waiting job or nothing, and, if this
-- job is due and held, until when: 'inf' or a time, ms, and what holds it.
function Lanes.read(topic, key)
  if not Lanes.state(topic) then return 0, 0 end
  local pending, flight, head, head_id = tonumber(call('ZSCORE', Lanes.pending_key(topic), key) or 0), Lanes.in_flight(topic, key), head_of(topic, key)
  if not head or not is_due(head) then return pending, flight, head end
  return pending, flight, head, select(2, room_of(topic, key, 1, head, head_id))
end

-- Called when a key gets other settings of its own, or loses them. exists: whether it has any.
function Lanes.note_settings(topic, key, exists)
  local name = Lanes.name(topic, key)
  settings[name] = nil
  if exists then call('HSET', LANES, '', '1') elseif call('EXISTS', KEY_SETTINGS) == 0 then call('HDEL', LANES, '') end
  is_there[LANES] = nil
  has_lanes = has(LANES)
  if Lanes.state(topic) then
    touch(topic, key)
  elseif exists then
    call('ZADD', Lanes.pending_key(topic), 0, key)
  else
    call('ZREM', Lanes.pending_key(topic), key)
  end
end

-- ---- repairs ----

-- Removes from a lane the attempts and jobs that are not its own, and offers it again. Returns whether there were any.
local MEND_MAX = 16 -- attempts, and jobs of one priority, in one step
function Lanes.mend(topic, key)
  local fields, wrong = call('SRANDMEMBER', in_flight_key(topic, key), MEND_MAX), 0
  local holders, ranks = #fields > 0 and call('HMGET', holders_of(topic), unpack(fields)) or {}, Ranks.of_all(fields)
  for i = 1, #fields do
    if not holders[i] or Ranks.key_in(ranks[i]) ~= key then wrong = wrong + call('SREM', in_flight_key(topic, key), fields[i]) end
  end
  local priorities = Lanes.state(topic).priorities
  local at = now % #priorities + 1 -- each walk takes another one
  local rank = string.sub(priorities, at, at) .. key
  local ids = call('ZRANGE', lane_of(topic, rank), '0', MEND_MAX - 1)
  ranks = Ranks.of_all(ids)
  for i = 1, #ids do
    if ranks[i] ~= rank then wrong = wrong + call('ZREM', lane_of(topic, rank), ids[i]) end
  end
  touch(topic, key)
  return wrong > 0
end

-- Makes an attempt in flight count for its lane.
function Lanes.mend_attempt(topic, field)
  Lanes.begin_attempts(topic, {field, ''})
  if Lanes.state(topic) then touch(topic, Ranks.key_in(Ranks.of(field))) end
end

-- Corrects the line of a lane, or removes it.
function Lanes.mend_line(name)
  local topic, key = string.match(name, '^([^\n]*)\n(.*)$')
  if Lanes.state(topic) then touch(topic, key) else call('HDEL', LINES, name) end
end

-- Makes the index have an entry of the bucket.
function Lanes.mend_place(topic, id)
  if not Lanes.state(topic) then return end
  local score = call('ZSCORE', bucket_of(topic), id)
  if score then add_to_index(topic, {id}, {score}) end
end

-- ---- end of a call ----

function Lanes.write()
  Ranks.write()
  for topic, state in pairs(states) do
    if state and state.is_changed then
      call('HSET', LANES, topic, table.concat({state.cursor, state.priorities, state.mark}, ' '))
      state.is_changed = false
    end
  end
end

function Lanes.begin()
  if next(states) then states = {} end
  if next(touched) then touched = {} end
end

return Lanes
