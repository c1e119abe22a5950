-- turns.lua - decides which topics may be served now. A topic that may be served is in the sorted set "turns", and
-- consumers claim its jobs. Any other topic with waiting jobs is in the sorted set "due", with the time at which it
-- is offered again. To offer a topic means to decide whether it may be served, and to write it into one of the two
-- sets. Only this file writes these sets, but serving.lua can lower the scores in turns.
--
-- ARGV[1] is the default limit: the maximum number of jobs of one topic that are in flight (being attempted) at the
--   same time, over all processes.

local Turns = {uses = {Fifo, Lanes, Limits, Names, Openings, Rates}}

-- ---- due jobs that may not be served ----

-- BEHIND is the set of topics that have due jobs but may not be served now, for example paused topics.

-- The topics that this call adds to BEHIND, and those that it removes. write_behind makes these changes.
local behind_added, behind_removed = {}, {}
local function note_behind(topic, is_behind)
  if is_behind then
    behind_added[#behind_added + 1] = '0'
    behind_added[#behind_added + 1] = topic
    is_there[BEHIND] = true
  else
    behind_removed[#behind_removed + 1] = topic
  end
end

local function write_behind()
  if #behind_removed > 0 then call('ZREM', BEHIND, unpack(behind_removed)) end
  if #behind_added > 0 then call('ZADD', BEHIND, unpack(behind_added)) end
  behind_added, behind_removed = {}, {}
end

-- ---- calendar ----

-- The carry worker offers a topic when its time in "due" has come. It sleeps until the first time in "due". So each
-- script that makes the first time earlier must wake the carry worker.
local first_after
local function note_due(at)
  Turns.first_before = Turns.first_before or tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2] or 'inf')
  if not first_after or tonumber(at) < tonumber(first_after) then first_after = at end
end

function Turns.wake()
  if first_after and tonumber(first_after) < Turns.first_before then publish(first_after) end
end

-- ---- waiting workers ----

-- A process whose workers wait for jobs of a pull topic gets a message when such a job can be leased. PULL_WAITERS has
-- topic -> time until which messages about it are needed, ms. If the workers wait longer, their process renews the
-- entry.

-- Publishes that jobs of this topic can be leased, if workers wait for them. If the message is lost, the workers wait
-- until their process renews the entry.
local function call_waiters(topic)
  local until_ms = has(PULL_WAITERS) and call('ZSCORE', PULL_WAITERS, topic)
  if until_ms and tonumber(until_ms) > clock.lease_now then publish('pull ' .. topic) end
end

function Turns.await(topic, until_ms)
  call('ZREMRANGEBYSCORE', PULL_WAITERS, '-inf', clock.lease_now)
  call('ZADD', PULL_WAITERS, 'GT', integer(until_ms), topic)
  is_there[PULL_WAITERS] = true
end

-- ---- offering a topic ----

-- Caches of this call, by topic: the number of jobs in flight, and the score of the first job in the bucket (the sorted
-- set of the topic's waiting jobs), or false for an empty bucket.
Turns.in_flight, Turns.first_scores = {}, {}

-- topic -> its time in "due", for the topics that this call offers because this time has come
Turns.carried_times = {}

-- Returns topics (maximum: most) whose time in "due" is not later than until_ms.
function Turns.topics_to_carry(until_ms, most)
  local found, topics = call('ZRANGE', DUE, '-inf', until_ms, 'BYSCORE', 'LIMIT', '0', most, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    topics[#topics + 1] = found[i]
    Turns.carried_times[found[i]] = found[i + 1]
  end
  return topics
end

-- Checks with one query whether any of these topics has jobs in flight. Usually none has, and Turns.in_flight is then 0
-- for all these topics. The key holders:<topic> exists only while jobs are in flight.
function Turns.look_at_holders(topics, most)
  local keys = {}
  for i = 1, math.min(#topics, most) do keys[i] = holders_of(topics[i]) end
  if #keys < 2 or call('EXISTS', unpack(keys)) > 0 then return end
  for i = 1, #keys do Turns.in_flight[topics[i]] = 0 end
end

function Turns.limit_of(topic)
  local own = settings_of(topic)
  return own.order == 'fifo' and 1 or own.maxInFlight or own.delivery == 'pull' and math.huge or Turns.default_limit
end

-- The same as Turns.held_until below, for a server where topics have settings. is_offer: if workers may lease jobs of
-- the topic now, also publishes a message to the processes whose workers wait for jobs.
local function held_by_settings(topic, first_due, is_offer)
  local own = settings_of(topic)
  if own.paused or own == UNREADABLE then return 'inf' end
  local opens = own.windows and Openings.closed_until(topic, is_offer)
  if opens then return opens end
  if (Turns.in_flight[topic] or call('HLEN', holders_of(topic))) >= Turns.limit_of(topic) then return 'inf' end
  local line_at = own.order == 'fifo' and Fifo.wait_until(topic)
  if line_at then return line_at end
  local batch_at = own.batch and not (has_lanes and Lanes.are_used(topic)) and Rates.batch_at(topic, bucket_of(topic), first_due)
  if batch_at then return batch_at, 'batch' end
  local tokens, next_at = math.huge, nil
  if own.rate then tokens, next_at = Rates.tokens(topic, first_due, is_offer) end
  if tokens < 1 then return integer(next_at) end
  local limited_until = own.limit and Limits.hold(topic, first_due, is_offer)
  if limited_until then return limited_until end
  if not is_pull(topic) then return end
  if is_offer then call_waiters(topic) end
  return 'inf'
end

-- For a topic whose first job is due: returns nothing if the topic may be served now, else the time until which it may
-- not be in turns. 'inf' means that the topic is paused, its settings cannot be read, its windows (openings.lua) are not
-- known yet, its limit of jobs in flight is reached, a limit that it shares holds it (limits.lua), or workers lease its
-- jobs. A time in ms comes from the topic's windows, its batch or its rate, or from its line (see fifo.lua) if it is
-- fifo. first_due: due time of the first job, ms.
function Turns.held_until(topic, first_due, is_offer)
  if has_settings() then return held_by_settings(topic, first_due, is_offer) end
  Turns.in_flight[topic] = Turns.in_flight[topic] or call('HLEN', holders_of(topic))
  return Turns.in_flight[topic] >= Turns.default_limit and 'inf' or nil
end

-- Returns the score of the first job in the bucket, or nothing if the bucket is empty. For a topic that is offered
-- because its time in "due" has come, returns this time without a query: it is the due time of the first job, unless
-- it comes from a rate, a limit, a batch or a line (see fifo.lua).
local function front_of(topic)
  local carried = Turns.carried_times[topic]
  if carried and not (has_settings() and (settings_of(topic).rate or settings_of(topic).limit or settings_of(topic).batch or has(LINES))) then return carried end
  return call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
end

-- Offers a topic. Every topic with waiting jobs is in exactly one of "due" and "turns": in turns if its first job is
-- due and the topic may be served; otherwise in due, with the due time of its first job or the time until which the
-- topic may not be served. A pull topic (its jobs are leased by workers) is never in turns. While workers may lease
-- its jobs, it is in due with 'inf', and processes whose workers wait get a message. Turns.write writes the changes
-- of all offers together, because a command for each topic would cost more than the rest of the work. is_new: the
-- topic was in neither due nor turns. is_kept: its bucket has not changed.
local due_added, due_removed = {}, {}
Turns.added, Turns.removed = {}, {}
function Turns.offer(topic, is_new, is_kept)
  local limit = not is_new and Limits.of(topic)
  Limits.is_asked = false
  local may_be_fifo = has_settings() and (has(LINES) or has(HELD))
  if may_be_fifo and is_fifo(topic) then Turns.first_scores[topic] = Fifo.keep_first(topic) end
  local first, is_late, is_step = Turns.first_scores[topic], nil, nil
  if has_lanes and Lanes.state(topic) then
    if is_fifo(topic) then Lanes.rest(topic) else first, is_late, is_step = Lanes.front(topic) end
  end
  if first == nil then first = front_of(topic) end
  if not first then
    if limit then Limits.leave(topic, limit) end
    Names.doubt(topic, true)
    if is_new or is_kept then return end
    due_removed[#due_removed + 1] = topic
    Turns.removed[#Turns.removed + 1] = topic
    if has(BEHIND) then note_behind(topic, false) end
    return
  end
  local is_ready, first_due = is_due(first), ms_of(first)
  local at = not is_ready and integer(first_due) or Turns.held_until(topic, first_due, true)
  if is_step and clock.is_manual then at = integer(now) end -- the clock stands still until all lanes were offered
  if limit and not Limits.is_asked then Limits.leave(topic, limit) end
  if is_late == nil then is_late = is_ready end
  if is_late and at or not is_new and has(BEHIND) then note_behind(topic, is_late and at) end
  if at then
    if at ~= 'inf' then note_due(at) end
    due_added[#due_added + 1] = at
    due_added[#due_added + 1] = topic
    if not is_new then Turns.removed[#Turns.removed + 1] = topic end
  else
    Turns.added[#Turns.added + 1] = topic
    if not is_new then due_removed[#due_removed + 1] = topic end
  end
end

-- A score in turns is a virtual time, a whole number. The topic with the lowest score is served next. Each job of a
-- topic that is leased adds Turns.A_JOB divided by the topic's weight to the topic's score (start-time fair queueing).
-- The score of a topic that enters turns is the highest score plus 1. So a topic gets no credit for idle time, and
-- topics that enter in the same call keep their order.
Turns.A_JOB = 1048576
-- Turns.next_scores: only in a claim: topic that the claim serves -> its new score

-- Adds the topics in Turns.added to turns. A topic that is already in turns keeps its score, unless this call has
-- served it (had_turn).
local function add_turns(had_turn)
  local last, numbered = nil, {}
  for i = 1, #Turns.added do
    local score = Turns.next_scores and Turns.next_scores[Turns.added[i]]
    if not score then
      last = (last or call('ZRANGE', TURNS, '0', '0', 'REV', 'WITHSCORES')[2] or 0) + 1
      score = last
    end
    numbered[2 * i - 1] = score
    numbered[2 * i] = Turns.added[i]
  end
  if had_turn then call('ZADD', TURNS, unpack(numbered)) else call('ZADD', TURNS, 'NX', unpack(numbered)) end
end

-- Writes the changes of all offers since the last call of this function. Only a claim calls this function several
-- times. had_turn: the claim has served these topics, so they get new scores in turns.
function Turns.write(had_turn)
  if #due_removed > 0 then call('ZREM', DUE, unpack(due_removed)) end
  if #Turns.removed > 0 then call('ZREM', TURNS, unpack(Turns.removed)) end
  if #due_added > 0 then call('ZADD', DUE, unpack(due_added)) end
  if #Turns.added > 0 then
    add_turns(had_turn)
    Turns.has_added = true
  end
  if Turns.next_scores or next(Limits.touched) then due_added, due_removed, Turns.added, Turns.removed = {}, {}, {}, {} end
  if has(BEHIND) then write_behind() end
  if has_lanes then Lanes.write() end
end

-- Offers the first topics that wait for the limits of which this call may have freed places, after Turns.write. A topic
-- that leaves its place frees it for the next one, so another round may follow. Each round has a bounded number of
-- topics; what is left waits for the next attempt that begins or ends.
local LET_IN_ROUNDS = 3
function Turns.let_in()
  for _ = 1, LET_IN_ROUNDS do
    local names = {}
    for name in pairs(Limits.touched) do names[#names + 1] = name end
    if #names == 0 then return end
    table.sort(names)
    Limits.touched = {}
    for i = 1, #names do
      local topics = Limits.to_let_in(names[i])
      for k = 1, #topics do Turns.offer(topics[k]) end
    end
    local turns = Turns.next_scores
    Turns.next_scores = nil
    Turns.write()
    due_added, due_removed, Turns.added, Turns.removed = {}, {}, {}, {}
    Turns.next_scores = turns
  end
end

-- ---- doorbell ----

-- The doorbell is the list "ready", on which idle consumers wait (BLPOP). Only this file writes it.

-- Adds the name of a topic with due jobs to "ready", unless a name is waiting there. The name wakes one consumer. When
-- this consumer claims jobs and some are left, the claim rings again, for the next consumer.
function Turns.ring()
  local first = call('ZRANGE', TURNS, '0', '0')[1]
  if first and call('LLEN', READY) == 0 then call('RPUSH', READY, first) end
end

-- ---- pages ----

-- Returns the next topics (maximum: most) whose scores are above score and not above last, and all further topics
-- whose score is that of the last one. If there may be more topics, also returns this score, with which the next page
-- begins.
function Turns.page(score, last, most)
  local entries, topics, is_known = call('ZRANGEBYSCORE', TURNS, '(' .. score, last, 'WITHSCORES', 'LIMIT', 0, most), {}, {}
  for i = 1, #entries, 2 do
    topics[#topics + 1] = entries[i]
    is_known[entries[i]] = true
  end
  if #topics < most then return topics end
  local end_score = entries[#entries]
  for _, topic in ipairs(call('ZRANGEBYSCORE', TURNS, end_score, end_score)) do
    if not is_known[topic] then topics[#topics + 1] = topic end
  end
  return topics, end_score
end

function Turns.begin()
  if #behind_added > 0 then behind_added = {} end
  if #behind_removed > 0 then behind_removed = {} end
  Turns.first_before, first_after = nil, nil
  Turns.default_limit = tonumber(ARGV[1])
  if next(Turns.in_flight) then Turns.in_flight = {} end
  if next(Turns.first_scores) then Turns.first_scores = {} end
  if next(Turns.carried_times) then Turns.carried_times = {} end
  if #due_added > 0 then due_added = {} end
  if #due_removed > 0 then due_removed = {} end
  if #Turns.added > 0 then Turns.added = {} end
  if #Turns.removed > 0 then Turns.removed = {} end
  Turns.next_scores, Turns.has_added = nil, false
end

return Turns
