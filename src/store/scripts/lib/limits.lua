-- limits.lua - limits that several topics share. The setting limit of a topic or pattern names one.
--
-- The hash LIMITS has the settings of each limit, as JSON text with the members maxInFlight, rate, paused and
-- pauseReason, which mean the same as for a topic. No topic's name begins with '~', so the settings and the rate of a
-- limit are read and kept like those of a topic with the name '~<limit>'.

local Limits = {uses = {Rates}}

local function topic_like(name) return '~' .. name end

-- Returns the name of the topic's limit, or nothing. No limit has an empty name.
function Limits.of(topic)
  local name = has(LIMITS) and settings_of(topic).limit
  return name and settings_of(topic_like(name)) ~= NO_SETTINGS and name or nil
end

-- ---- topics that name a limit ----

-- The sorted set limit_users:<limit> has the topics and patterns whose settings name a limit, so a limit is not deleted while
-- it is named.
function Limits.users_key(name) return base .. 'limit_users:' .. name end

function Limits.exists(name) return has(LIMITS) and call('HEXISTS', LIMITS, name) == 1 end

-- Returns the limit that the text of a topic's or pattern's settings names, or nothing.
function Limits.named_in(text) return text ~= '' and read_settings(text).limit or nil end

-- Notes that the settings of a topic or pattern have changed. old, new: the limits that they named and name, or nothing.
function Limits.note_user(user, old, new)
  if old then call('ZREM', Limits.users_key(old), user) end
  if new then call('ZADD', Limits.users_key(new), '0', user) end
end

-- ---- attempts in flight ----

-- LIMITED has each topic with attempts that count for a limit: topic -> '<number> <limit>'. LIMITS_USED has the sum of
-- these numbers: limit -> number. Both change with holders:<topic>, in the same script.

-- The limits of which this call may have freed places. Turns.let_in then offers the first topics that wait for them.
Limits.touched = {}

local used, planned = {}, {} -- limit -> sum in LIMITS_USED; number of attempts that this claim has planned
local function used_of(name)
  used[name] = used[name] or tonumber(call('HGET', LIMITS_USED, name)) or 0
  return used[name]
end

local function change_used(name, change)
  if change == 0 then return end
  used[name] = call('HINCRBY', LIMITS_USED, name, change)
  if used[name] == 0 then call('HDEL', LIMITS_USED, name) end
  if change < 0 then Limits.touched[name] = true end
end

-- Counts the attempts of a topic in flight for its limit. number: how many there are; read from Redis if absent.
function Limits.count(topic, number)
  local name = Limits.of(topic)
  local entry = has(LIMITED) and call('HGET', LIMITED, topic)
  if not name and not entry then return end
  local old, old_name = string.match(entry or '', '^(%d+) (.+)$')
  old, number = tonumber(old) or 0, name and (number or call('HLEN', holders_of(topic))) or 0
  if old_name and old_name ~= name then
    change_used(old_name, -old)
    old = 0
  end
  if name then change_used(name, number - old) end
  if number > 0 then
    call('HSET', LIMITED, topic, number .. ' ' .. name)
    is_there[LIMITED] = true
  elseif entry then
    call('HDEL', LIMITED, topic)
  end
end

-- Returns how many attempts may begin now under a limit. If its rate allows none, also returns when it allows the next
-- one, ms. topic, first_due: the topic whose jobs wait, and when the first of them became due, ms, which is read from
-- Redis if absent.
function Limits.room(name, topic, first_due, is_offer)
  local like = topic_like(name)
  local own = settings_of(like)
  if own.paused or own == UNREADABLE then return 0 end
  local mine = planned[name] or 0
  local room = (own.maxInFlight or math.huge) - used_of(name) - mine
  if room < 1 or not own.rate then return room end
  local tokens, next_at = Rates.tokens(like, first_due or Rates.first_due_of(topic), is_offer)
  if tokens - mine < 1 then return 0, next_at end
  return math.min(room, tokens - mine)
end

-- A claim plans the turns of several topics before it leases their jobs.
function Limits.plan(name, number) planned[name] = (planned[name] or 0) + number end
function Limits.end_plans() if next(planned) then planned = {} end end

-- Counts attempts of a topic that begin now. in_flight: the number of its attempts in flight with them. spending: the
-- number of these attempts that a rate counts.
function Limits.begin_attempts(topic, name, in_flight, spending, first_due)
  Limits.count(topic, in_flight)
  Rates.spend(topic_like(name), spending, first_due)
  Limits.leave(topic, name) -- the topic has had its turn
end

-- Returns the tokens of attempts that were claimed but have not begun, see Rates.give_back.
function Limits.give_back(topic, number, since)
  local name = Limits.of(topic)
  if not name then return end
  Rates.give_back(topic_like(name), number, since)
  Limits.touched[name] = true
end

function Limits.forget_rate(name)
  call('HDEL', RATES, topic_like(name))
  call('DEL', Rates.begun_key(topic_like(name)))
end

-- ---- topics that wait for a limit ----

-- The sorted set waiting:<limit> has the topics with due jobs that only the limit may hold, numbered in the order in
-- which they came. The first of them, as many as the limit has room for, may be in turns. The others, and all beyond
-- LET_IN_MAX, are in due with 'inf'; if the limit waits for its rate, the first topic is there with the time of the next
-- token. A topic leaves when a claim has leased jobs of it, and comes again behind the others. So no topic waits for
-- ever, and a topic that has its turn before the others takes no place from them for long.
Limits.LET_IN_MAX = 16
function Limits.waiting_key(name) return base .. 'waiting:' .. name end

-- Whether the topic that is being offered now waits for its limit, or may be served under it.
Limits.is_asked = false

local function join(key, topic)
  local last = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')[2] or 0
  call('ZADD', key, 'NX', integer(last + 1), topic)
end

function Limits.leave(topic, name)
  if call('ZREM', Limits.waiting_key(name), topic) == 1 then Limits.touched[name] = true end
end

-- For a topic whose first job is due and which nothing else holds: returns nothing if its jobs may begin under its
-- limit now, else the time until which they may not; 'inf' if this does not depend on time. is_offer: the topic is
-- offered, and keeps its place among those that wait.
function Limits.hold(topic, first_due, is_offer)
  local name = Limits.of(topic)
  if not name then return end
  local key = Limits.waiting_key(name)
  local room, next_at = Limits.room(name, topic, first_due, is_offer)
  -- Workers may never ask for the jobs of a pull topic, so such a topic keeps no place before the others.
  if is_pull(topic) and room >= 1 then return end
  if is_offer then
    Limits.is_asked = true
    join(key, topic)
  end
  local rank = call('ZRANK', key, topic) or call('ZCARD', key)
  if rank < math.min(room, Limits.LET_IN_MAX) then return end
  return rank == 0 and next_at and integer(next_at) or 'inf'
end

-- Returns the first topics that wait for a limit, if they must be offered: those that the limit has room for and that
-- are not in turns, or the first one, which waits for the rate. Topics whose settings no longer name the limit leave.
function Limits.to_let_in(name)
  local key = Limits.waiting_key(name)
  while true do
    local first = call('ZRANGE', key, '0', '0')[1]
    if not first then return {} end
    if Limits.of(first) == name then break end
    call('ZREM', key, first)
  end
  local first = call('ZRANGE', key, '0', '0')[1]
  local room, next_at = Limits.room(name, first, nil, true)
  if room < 1 then return next_at and call('ZSCORE', DUE, first) == 'inf' and {first} or {} end
  local topics, chosen = call('ZRANGE', key, '0', math.min(room, Limits.LET_IN_MAX) - 1), {}
  local turns = call('ZMSCORE', TURNS, unpack(topics))
  for i = 1, #topics do
    if not turns[i] then chosen[#chosen + 1] = topics[i] end
  end
  return chosen
end

function Limits.begin()
  if next(Limits.touched) then Limits.touched = {} end
  if next(used) then used = {} end
  if next(planned) then planned = {} end
  Limits.is_asked = false
end

return Limits
