-- stream.lua - what happens to the jobs of topics with the setting events, for GET /events. The events of workflows are
-- in events.lua.

local Stream = {uses = {Ranks}}

-- Each such topic has a stream with its last events. An entry has one field, whose value is
-- '<type> <time, ms> <bytes of the jobId> <bytes of the key> <jobId><key><data>'. data is the line of the attempt (attempt_line.h) with its newline, or JSON, or ''.
-- These keys have no names in keys.lua, because few installations have them. A stream without new events is removed
-- after a week.
local MAX, KEPT_MS = 10000, 604800000
function Stream.key(topic) return base .. 'stream:' .. topic end

-- The topics whose events a process reads: topic -> time until which messages about it are needed, ms.
local function readers() return base .. 'stream_readers' end

function Stream.is_on(topic) return has_settings() and settings_of(topic).events == true end

-- ---- writing ----

local is_told = {} -- topics whose readers this call has woken

-- Adds an event of a job, if its topic has the setting.
function Stream.add(topic, id, type_of_event, data)
  if not Stream.is_on(topic) then return end
  local job_id, key = string.sub(id, #topic + 2), Stream.key(topic)
  local its_key = has_lanes and Ranks.key_in(Ranks.of(id)) or ''
  local entry = table.concat({type_of_event, integer(now), #job_id, #its_key, job_id .. its_key .. (data or '')}, ' ')
  call('XADD', key, 'MAXLEN', '~', MAX, '*', 'e', entry)
  if is_told[topic] then return end
  is_told[topic] = true
  call('PEXPIRE', key, KEPT_MS)
  local until_ms = has(readers()) and call('ZSCORE', readers(), topic)
  if until_ms and tonumber(until_ms) > clock.lease_now then publish('stream ' .. topic) end
end

-- The same for an event that has the line of an attempt, or ''. Readers need no answer, so it is left out.
function Stream.add_end(topic, id, type_of_event, line)
  if not Stream.is_on(topic) then return end
  line = string.match(line, '^(%S+ %d+ %d+ %d+) ') or line
  Stream.add(topic, id, type_of_event, line ~= '' and line .. '\n' or '')
end

-- ---- reading ----

local function is_before(one, other)
  local ms, number = string.match(one, '^(%d+)-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)-(%d+)$')
  return tonumber(ms) < tonumber(other_ms) or ms == other_ms and tonumber(number) < tonumber(other_number)
end

-- Returns the state of a stream, as XINFO does.
local function look_at(key)
  local found, state = call('EXISTS', key) == 1 and call('XINFO', 'STREAM', key) or {}, {}
  for i = 1, #found, 2 do state[found[i]] = found[i + 1] end
  return state
end

-- Returns whether events between the one with the id after and the first one of the stream may have been removed.
local function may_lack(state, first, after)
  local is_old = tonumber(string.match(after, '^%d+')) < now_us / 1000 - KEPT_MS
  return is_old or is_before(after, first) and state['entries-added'] > state.length or not state.length
end

-- Removes the events of a topic, and one more, so that each reader finds a gap.
function Stream.forget(topic) call('XADD', Stream.key(topic), 'MAXLEN', '0', '*', 'e', '') end

-- Returns {1 if the topic has the setting, id of its last event or '0-0', 1 if events after the id were removed, then id,
-- value of each event}. after: the id of an event, or '' for none. most: how many events. wait_ms: how long the caller
-- needs messages.
function Stream.read(topic, after, most, wait_ms)
  if wait_ms > 0 then
    call('ZREMRANGEBYSCORE', readers(), '-inf', integer(clock.lease_now))
    call('ZADD', readers(), 'GT', integer(clock.lease_now + wait_ms), topic)
  end
  local key = Stream.key(topic)
  local state = look_at(key)
  local result = {Stream.is_on(topic) and 1 or 0, state['last-generated-id'] or '0-0', 0}
  if after == '' or after == result[2] then return result end
  local first = call('XRANGE', key, '-', '+', 'COUNT', '1')[1]
  if after ~= '0-0' and may_lack(state, first and first[1] or result[2], after) then result[3] = 1 end
  for _, entry in ipairs(call('XRANGE', key, '(' .. after, '+', 'COUNT', most)) do
    result[#result + 1] = entry[1]
    result[#result + 1] = entry[2][2]
  end
  return result
end

function Stream.begin()
  if next(is_told) then is_told = {} end
end

return Stream
