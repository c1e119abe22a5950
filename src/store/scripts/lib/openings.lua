-- openings.lua - topics whose attempts begin only at certain times: the setting windows.
--
-- Scripts have no time zones. So the carry worker computes when such a topic opens and closes next (openings.lua), and
-- this file compares. The hash openings has topic -> 'opens closes opens closes ...', in ms. If the carry worker does not
-- know the zone of a window, '- time' follows, or is all: at this time, ms, the spans are computed again. Without a span
-- that ends after now, the topic is closed, so no attempt is ever early.
-- The set openings_wanted has the topics whose spans the carry worker computes next. It computes them again in the last
-- day of the last span, so that they are there when this span ends. Windows that never close have one span, of more than
-- two weeks. When a topic comes into the set, a message makes the owner of the carry lock look at once, because due jobs may wait.

local Openings = {uses = {}}

-- These keys have no names in keys.lua, because few installations have them.
function Openings.key() return base .. 'openings' end
function Openings.wanted() return base .. 'openings_wanted' end

-- Cache of this call: topic -> false if it is open, otherwise as Openings.closed_until returns it
local closed = {}
local is_told -- whether this call has published that a topic is in openings_wanted

local DAY_MS = 86400000

-- Returns the spans of a topic, and, if the zone of one of its windows is unknown, when they are computed again, ms.
local function read(topic)
  local spans = call('HGET', Openings.key(), topic) or ''
  local dash = string.find(spans, '-', 1, true)
  if not dash then return spans end
  return string.sub(spans, 1, dash - 1), tonumber(string.sub(spans, dash + 1)) or 0
end

-- Returns whether the zone of one of the topic's windows is unknown.
function Openings.lacks_zone(topic) return select(2, read(topic)) ~= nil end

-- Returns nothing if attempts of the topic may begin now. Otherwise returns when it opens, or when its spans are computed
-- again, ms, as a text; 'inf' if this is not computed yet. may_write: asks the carry worker for what is missing.
function Openings.closed_until(topic, may_write)
  if not settings_of(topic).windows then return end
  if closed[topic] ~= nil and not may_write then return closed[topic] or nil end
  local spans, again = read(topic)
  closed[topic] = 'inf'
  local is_last = true
  for opens, closes, at in string.gmatch(spans, '(%d+) (%d+)()') do
    if now < tonumber(closes) then
      closed[topic], is_last = now < tonumber(opens) and opens, at > #spans and closes - now < DAY_MS
      break
    end
  end
  if again then
    is_last = now >= again
    if closed[topic] and not is_last and again < tonumber(closed[topic]) then closed[topic] = integer(again) end
  end
  if is_last and may_write and call('SADD', Openings.wanted(), topic) == 1 and not is_told then
    is_told = true
    publish('openings')
  end
  return closed[topic] or nil
end

-- Called when the windows of a topic may have changed.
function Openings.forget(topic)
  closed[topic] = nil
  call('HDEL', Openings.key(), topic)
end

function Openings.begin()
  is_told = false
  if next(closed) then closed = {} end
end

return Openings
