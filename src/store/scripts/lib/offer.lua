-- offer.lua - the only writer of turns and, together with calendar.lua, of due.
--
-- ARGV[1] is the default limit: the maximum number of jobs of one topic in flight, over all processes.
-- uses: behind calendar due line names pull_waiters rate

local TURNS = base .. 'turns'
local default_limit = tonumber(ARGV[1])
-- Caches of this call, by topic: the number of jobs in flight, and the score of the first job in the bucket or false
-- for an empty bucket.
local in_flight, first_scores = {}, {}

-- The times that the topics which this call carries have in "due".
local carried_times = {}

-- Returns the topics in "due" whose time has come, up to a number.
local function topics_to_carry(until_ms, most)
  local found, topics = call('ZRANGE', DUE, '-inf', until_ms, 'BYSCORE', 'LIMIT', '0', most, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    topics[#topics + 1] = found[i]
    carried_times[found[i]] = found[i + 1]
  end
  return topics
end

-- Checks many topics with one query, because most have no attempts and so no holders.
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

-- Returns the time until which a topic with settings may not be served; see held_until. is_offer: if workers may
-- lease jobs of the topic, publishes a message to the processes whose clients wait.
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

-- Returns the time until which a topic whose first job is due may not be in turns, or nothing if it may be.
-- 'inf' means that the topic is paused, its settings cannot be read, its limit in flight is reached, or
-- workers lease its jobs. A time comes from the topic's rate, or from its line (see line.lua) if it is fifo.
-- first_due is the due time of its first job, ms.
local function held_until(topic, first_due, is_offer)
  if has_settings() then return held_by_settings(topic, first_due, is_offer) end
  in_flight[topic] = in_flight[topic] or call('HLEN', holders_of(topic))
  return in_flight[topic] >= default_limit and 'inf' or nil
end

-- Returns the score of the first job in the bucket, or nothing if the bucket is empty. For a topic that is being
-- carried, its time in "due" serves as this score, because it is the due time of the first job. Only a rate or a line
-- (see line.lua) may have set another time.
local function front_of(topic)
  local carried = carried_times[topic]
  if carried and not (has_settings() and (settings_of(topic).rate or has(LINES))) then return carried end
  return call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
end

-- Every topic with a bucket is in exactly one of due and turns. It is in turns if its first job is due and it may be
-- served. Otherwise it is in due, with the due time of its first job or the time until which the topic is held. A
-- pull topic is never in turns. While workers may lease its jobs, it is in due with 'inf', and processes whose
-- clients wait get a message. The changes of all offers of a call are written together, because a command for each
-- topic would cost more than the work itself. is_new: the topic was in neither of the two. is_kept: its bucket has
-- not changed.
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

-- A score in turns is virtual time, a whole number. Each job that a topic gets adds A_JOB divided by the
-- topic's weight to its score (start-time fair queueing). A topic that becomes ready begins after all others,
-- 1 after the last score: it gets no credit for idle time, and topics that become ready at the same time keep
-- their order.
local A_JOB = 1048576
local next_turns = nil -- in a claim: new scores of the topics that it serves

-- Adds topics to turns. A topic that is already in turns keeps its place, unless it was served by this call.
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

-- Writes the offers of this call. A claim calls it several times. had_turn: the topics were served, and move
-- to the end of turns.
local function write_offers(had_turn)
  if #due_removed > 0 then call('ZREM', DUE, unpack(due_removed)) end
  if #turns_removed > 0 then call('ZREM', TURNS, unpack(turns_removed)) end
  if #due_added > 0 then call('ZADD', DUE, unpack(due_added)) end
  if #turns_added > 0 then add_turns(had_turn) end
  if next_turns then due_added, due_removed, turns_added, turns_removed = {}, {}, {}, {} end
  if has(BEHIND) then write_behind() end
end
