-- offer.lua - the only writer of turns; with calendar, of due.
--
-- ARGV[1] is the default limit: the most jobs of one topic in flight at once, over all processes.
-- uses: behind calendar rate

local TURNS = base .. 'turns'
local function limit_of(topic) return settings_of(topic).maxInFlight or tonumber(ARGV[1]) end

-- Until when a topic whose first job is due may not be served: 'inf' while it is paused, its settings cannot be read or
-- its number in flight is at its limit, else by its rate; nothing when it may.
local function held_until(topic)
  if settings_of(topic).paused or settings_of(topic) == UNREADABLE then return 'inf' end
  if call('HLEN', holders_of(topic)) >= limit_of(topic) then return 'inf' end
  local tokens, next_at = tokens_of(topic)
  return tokens < 1 and integer(next_at) or nil
end

-- Every topic with a bucket is in exactly one of due and turns: in turns when its first job is due and it
-- may be served; else in due, with the time of its first job or that until which it is held.
local function offer(topic)
  local first = call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')
  if not first[1] then
    call('ZREM', DUE, topic)
    call('ZREM', TURNS, topic)
    note_behind(topic, false)
    return
  end
  local is_due = tonumber(first[2]) <= now
  local at = not is_due and first[2] or held_until(topic)
  note_behind(topic, is_due and at)
  if at then
    if at ~= 'inf' then note_due(at) end
    call('ZADD', DUE, at, topic)
    call('ZREM', TURNS, topic)
    return
  end
  call('ZREM', DUE, topic)
  if not call('ZSCORE', TURNS, topic) then
    local last = call('ZRANGE', TURNS, 0, 0, 'REV', 'WITHSCORES')[2] or 0
    call('ZADD', TURNS, last + 1, topic)
  end
end
