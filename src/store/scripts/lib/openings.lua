-- openings.lua - topics whose attempts begin only at certain times: the setting windows.
--
-- Scripts have no time zones. So the carry worker computes when such a topic opens and closes next (openings.lua), and
-- this file compares. The hash openings has topic -> 'opens closes opens closes ...', in ms; or '-' if its windows
-- never open, because a zone is unknown. Without a span that ends after now, the topic is closed, so no attempt is ever early.
-- The set openings_wanted has the topics whose spans the carry worker computes next. It computes them again in the last
-- day of the last span, so that they are there when this span ends. Windows that never close have one span, of more than
-- two weeks.

local Openings = {uses = {}}

-- These keys have no names in keys.lua, because few installations have them.
function Openings.key() return base .. 'openings' end
function Openings.wanted() return base .. 'openings_wanted' end

-- Cache of this call: topic -> false if it is open, otherwise as Openings.closed_until returns it
local closed = {}

local DAY_MS = 86400000

-- Returns nothing if attempts of the topic may begin now. Otherwise returns when it opens, ms, as a text; 'inf' if this
-- is not computed yet. may_write: asks the carry worker for what is missing.
function Openings.closed_until(topic, may_write)
  if not settings_of(topic).windows then return end
  if closed[topic] ~= nil and not may_write then return closed[topic] or nil end
  local spans = call('HGET', Openings.key(), topic) or ''
  closed[topic] = 'inf'
  local is_last = true
  for opens, closes, at in string.gmatch(spans, '(%d+) (%d+)()') do
    if now < tonumber(closes) then
      closed[topic], is_last = now < tonumber(opens) and opens, at > #spans and closes - now < DAY_MS
      break
    end
  end
  if is_last and may_write and spans ~= '-' then call('SADD', Openings.wanted(), topic) end
  return closed[topic] or nil
end

-- Called when the windows of a topic may have changed.
function Openings.forget(topic)
  closed[topic] = nil
  call('HDEL', Openings.key(), topic)
end

function Openings.begin()
  if next(closed) then closed = {} end
end

return Openings
