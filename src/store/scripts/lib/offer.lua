-- offer.lua - decides which topics may be served now. A topic that may be served is in the sorted set "turns", and
-- consumers claim its jobs. Any other topic with waiting jobs is in the sorted set "due", with the time at which it
-- is offered again. To offer a topic means to decide whether it may be served, and to write it into one of the two
-- sets. Only this file writes these sets, but weights.lua can lower the scores in turns.
--
-- ARGV[1] is the default limit: the maximum number of jobs of one topic that are in flight (being attempted) at the
--   same time, over all processes.
-- uses: behind calendar due line names pull_waiters rate

local TURNS = base .. 'turns'
local default_limit = tonumber(ARGV[1])
-- Caches of this call, by topic: the number of jobs in flight, and the score of the first job in the bucket (the sorted
-- set of the topic's waiting jobs), or false for an empty bucket.
local in_flight, first_scores = {}, {}

-- topic -> its time in "due", for the topics that this call offers because this time has come
local carried_times = {}

-- Returns topics (maximum: most) whose time in "due" is not later than until_ms.
local function topics_to_carry(until_ms, most)
  local found, topics = call('ZRANGE', DUE, '-inf', until_ms, 'BYSCORE', 'LIMIT', '0', most, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    topics[#topics + 1] = found[i]
    carried_times[found[i]] = found[i + 1]
  end
  return topics
end

-- Checks with one query whether any of these topics has jobs in flight. Usually none has, and in_flight is then 0 for
-- all these topics. The key holders:<topic> exists only while jobs are in flight.
local function look_at_holders(topics, most)
  local keys = {}
  for i = 1, math.min(#topics, most) do keys[i] = holders_of(topics[i]) end
  if #keys < 2 or call('EXISTS', unpack(keys)) > 0 then return end
  for i = 1, #keys do in_flight[topics[i]] = 0 end
end

-- rare: settings
local function limit_of(topic)
  local own = settings_of(topic)
  return own.order == 'fifo' and 1 or own.maxInFlight or own.delivery == 'pull' and math.huge or default_limit
end

-- The same as held_until below, for a server where topics have settings. is_offer: if workers may lease jobs of the
-- topic now, also publishes a message to the processes whose workers wait for jobs.
-- rare: settings
local function held_by_settings(topic, first_due, is_offer)
  local own = settings_of(topic)
  if own.paused or own == UNREADABLE then return 'inf' end
  if (in_flight[topic] or call('HLEN', holders_of(topic))) >= limit_of(topic) then return 'inf' end
  local line_at = own.order == 'fifo' and line_until(topic)
  if line_at then return line_at end
  local tokens, next_at = math.huge, nil
  if own.rate then tokens, next_at = tokens_of(topic, first_due, is_offer) end
  if tokens < 1 then return integer(next_at) end
  if not is_pull(topic) then return end
  if is_offer then call_waiters(topic) end
  return 'inf'
end

-- For a topic whose first job is due: returns nothing if the topic may be served now, else the time until which it may
-- not be in turns. 'inf' means that the topic is paused, its settings cannot be read, its limit of jobs in flight is
-- reached, or workers lease its jobs. A time in ms comes from the topic's rate, or from its line (see line.lua) if it
-- is fifo. first_due: due time of the first job, ms.
local function held_until(topic, first_due, is_offer)
  if has_settings() then return held_by_settings(topic, first_due, is_offer) end
  in_flight[topic] = in_flight[topic] or call('HLEN', holders_of(topic))
  return in_flight[topic] >= default_limit and 'inf' or nil
end

-- Returns the score of the first job in the bucket, or nothing if the bucket is empty. For a topic that is offered
-- because its time in "due" has come, returns this time without a query: it is the due time of the first job, unless
-- it comes from a rate or a line (see line.lua).
local function front_of(topic)
  local carried = carried_times[topic]
  if carried and not (has_settings() and (settings_of(topic).rate or has(LINES))) then return carried end
  return call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
end

-- Offers a topic. Every topic with waiting jobs is in exactly one of "due" and "turns": in turns if its first job is
-- due and the topic may be served; otherwise in due, with the due time of its first job or the time until which the
-- topic may not be served. A pull topic (its jobs are leased by workers) is never in turns. While workers may lease
-- its jobs, it is in due with 'inf', and processes whose workers wait get a message. write_offers writes the changes
-- of all offers together, because a command for each topic would cost more than the rest of the work. is_new: the
-- topic was in neither due nor turns. is_kept: its bucket has not changed.
local due_added, due_removed, turns_added, turns_removed = {}, {}, {}, {}
local function offer(topic, is_new, is_kept)
  local may_be_fifo = has_settings() and (has(LINES) or has(HELD))
  if may_be_fifo and is_fifo(topic) then first_scores[topic] = keep_line(topic) end
  local first = first_scores[topic]
  if first == nil then first = front_of(topic) end
  if not first then
    doubt_name(topic, true)
    if is_new or is_kept then return end
    due_removed[#due_removed + 1] = topic
    turns_removed[#turns_removed + 1] = topic
    if has(BEHIND) then note_behind(topic, false) end
    return
  end
  local is_ready, first_due = is_due(first), ms_of(first)
  local at = not is_ready and integer(first_due) or held_until(topic, first_due, true)
  if is_ready and at or not is_new and has(BEHIND) then note_behind(topic, is_ready and at) end
  if at then
    if at ~= 'inf' then note_due(at) end
    due_added[#due_added + 1] = at
    due_added[#due_added + 1] = topic
    if not is_new then turns_removed[#turns_removed + 1] = topic end
  else
    turns_added[#turns_added + 1] = topic
    if not is_new then due_removed[#due_removed + 1] = topic end
  end
end

-- A score in turns is a virtual time, a whole number. The topic with the lowest score is served next. Each job of a
-- topic that is leased adds A_JOB divided by the topic's weight to the topic's score (start-time fair queueing). The
-- score of a topic that enters turns is the highest score plus 1. So a topic gets no credit for idle time, and topics
-- that enter in the same call keep their order.
local A_JOB = 1048576
local next_turns = nil -- only in a claim: topic that the claim serves -> its new score

-- Adds the topics in turns_added to turns. A topic that is already in turns keeps its score, unless this call has
-- served it (had_turn).
local function add_turns(had_turn)
  local last, numbered = nil, {}
  for i = 1, #turns_added do
    local score = next_turns and next_turns[turns_added[i]]
    if not score then
      last = (last or call('ZRANGE', TURNS, '0', '0', 'REV', 'WITHSCORES')[2] or 0) + 1
      score = last
    end
    numbered[2 * i - 1] = score
    numbered[2 * i] = turns_added[i]
  end
  if had_turn then call('ZADD', TURNS, unpack(numbered)) else call('ZADD', TURNS, 'NX', unpack(numbered)) end
end

-- Writes the changes of all offers since the last call of this function. Only a claim calls this function several
-- times. had_turn: the claim has served these topics, so they get new scores in turns.
local function write_offers(had_turn)
  if #due_removed > 0 then call('ZREM', DUE, unpack(due_removed)) end
  if #turns_removed > 0 then call('ZREM', TURNS, unpack(turns_removed)) end
  if #due_added > 0 then call('ZADD', DUE, unpack(due_added)) end
  if #turns_added > 0 then add_turns(had_turn) end
  if next_turns then due_added, due_removed, turns_added, turns_removed = {}, {}, {}, {} end
  if has(BEHIND) then write_behind() end
end
