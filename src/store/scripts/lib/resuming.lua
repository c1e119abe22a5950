-- resuming.lua - resumes held jobs before their hold ends: gives them back the due times that they had before. A held
-- job was due, and now waits until attempts may be sent to its receiver again, see holds.lua.
--
-- The sorted set RESUMING has the topics whose setting breaker was turned off, or which have a url again after they
-- held jobs without a url. For each such topic, a walk examines the held jobs in the order in which they were due. The
-- topic's score is the position of the walk: the due time of the last job that was examined. If a setting was changed
-- in a pattern, another walk, through the key HELD, finds the topics. The position of this other walk is the field
-- resume_held of META; the field resume_lost has the patterns. The walks also resume jobs that are held for another
-- reason; such jobs will be held again.

local Resuming = {uses = {Holds, Places, Records}}

local UNPACK_MAX = 1000 -- unpack has room for about 8,000 values
local LOST_MAX = 100 -- the maximum number of patterns

-- Returns whether the topic holds jobs because it had no url, although its jobs no longer need one of their own.
local function has_url_again(topic)
  return Records.needs_no_url(topic) and call('EXISTS', Holds.breaker_key(Holds.no_url_of(topic))) == 1
end

-- Starts or restarts the walk through the held jobs of a topic, if its breaker may be off now, or it has a url again.
-- was_on: the topic had a breaker before this change. If the topic has no setting breaker now, the option --breaker
-- decides. Scripts do not know this option, so the walk starts anyway; if breakers are on, the jobs will be held again.
-- A sibling topic (orders~callbacks) does not have the setting of its owner topic (orders).
function Resuming.start(topic, was_on)
  local breaker = settings_of(topic).breaker
  local is_off = breaker == false or was_on and breaker == nil
  if has(HELD) and (is_off or has_url_again(topic)) and call('EXISTS', Holds.key(topic)) == 1 then call('ZADD', RESUMING, '0', topic) end
end

-- Starts or restarts the walk through all topics with held jobs. lost: the patterns that had a breaker before this
-- change. If the walk is under way, its patterns are kept, too. If there are more than LOST_MAX patterns, the pattern *
-- replaces them.
function Resuming.start_all(lost)
  if not has(HELD) then return end
  call('HSET', META, 'resume_held', '0')
  if #lost == 0 then return end
  local is_lost = {}
  for i = 1, #lost do is_lost[lost[i]] = true end
  for name in string.gmatch(call('HGET', META, 'resume_lost') or '', '%S+') do
    if not is_lost[name] then lost[#lost + 1] = name end
  end
  call('HSET', META, 'resume_lost', #lost > LOST_MAX and '*' or table.concat(lost, ' '))
end

-- Returns a function that takes a topic, and returns whether one of the patterns that match it has lost its breaker.
local function read_lost()
  local is_lost, sizes, has_size = {}, {}, {}
  for name in string.gmatch(call('HGET', META, 'resume_lost') or '', '%S+') do
    local size = #name - 1
    is_lost[name] = true
    if not has_size[size] then sizes[#sizes + 1] = size end
    has_size[size] = true
  end
  return function(topic)
    for i = 1, #sizes do
      if is_lost[string.sub(topic, 1, sizes[i]) .. '*'] then return not string.find(topic, '~', 1, true) end
    end
  end
end

-- Resumes the next held jobs of a topic: up to most, and all further jobs with the same due time as the last of them,
-- because the walk continues after this time. from: the due time after which this step begins. Returns the number of
-- jobs, plus 1 for the topic.
local function resume_page(topic, from, most)
  local page, ids = {}, {}
  local is_mended = has_url_again(topic)
  if is_mended or settings_of(topic).breaker ~= true then
    page = call('ZRANGE', Holds.key(topic), '(' .. from, '+inf', 'BYSCORE', 'LIMIT', '0', most, 'WITHSCORES')
  end
  for i = 1, #page, 2 do ids[#ids + 1] = page[i] end
  if Places.resume(topic, ids) then Holds.note_resumed(topic) end
  if #ids < most then
    call('ZREM', RESUMING, topic)
    if is_mended then call('DEL', Holds.breaker_key(Holds.no_url_of(topic))) end
  else
    local last = page[#page]
    Places.resume(topic, call('ZRANGE', Holds.key(topic), last, last, 'BYSCORE'))
    call('ZADD', RESUMING, last, topic)
  end
  return #ids + 1
end

-- Does a step of the walk through HELD. Returns the number of examined topics plus 1, or nothing if this walk is not
-- under way. While HELD is small, Redis returns all its topics at once, so there may be more than most: up to Redis's
-- setting zset-max-listpack-entries.
local function find_page(most)
  local cursor, topics = call('HGET', META, 'resume_held'), {}
  if not cursor then return end
  local page, has_lost = call('ZSCAN', HELD, cursor, 'COUNT', most), read_lost()
  for i = 1, #page[2], 2 do topics[#topics + 1] = page[2][i] end
  if page[1] == '0' then call('HDEL', META, 'resume_held', 'resume_lost') else call('HSET', META, 'resume_held', page[1]) end
  for i = 1, #topics, UNPACK_MAX do fetch_settings({unpack(topics, i, math.min(i + UNPACK_MAX - 1, #topics))}) end
  for i = 1, #topics do Resuming.start(topics[i], has_lost(topics[i])) end
  return #topics + 1
end

-- Does one step of the walks. most: about how many jobs and topics the step examines. Returns whether the walks must
-- continue.
function Resuming.step(most)
  while most > 0 do
    local next_topic = call('ZRANGE', RESUMING, '0', '0', 'WITHSCORES')
    local number = next_topic[1] and resume_page(next_topic[1], next_topic[2], most) or find_page(most)
    if not number then return false end
    most = most - number
  end
  return true
end

return Resuming
