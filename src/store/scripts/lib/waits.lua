-- waits.lua - workflows that wait for an event, and events that wait for a workflow.
--
-- A wait is a job that is due at its deadline. At the deadline, its element is appended and the job is
-- delivered. If the event comes first, another element is appended instead. WAITS has '<size of the event>
-- <size of the text> ', the event, a text of the caller, and the element.
-- uses: keys

local WAITS = base .. 'waits' -- id of the job -> see above
local function waiters_of(scope, event) return base .. 'waiters:' .. scope .. '/' .. event end -- job -> when its wait began; scope: an owner or a workflow's place
local function event_names_of(place) return base .. 'event_names:' .. place end -- HASH: kept event -> size of its data
local function events_of(place, event) return base .. 'events:' .. place .. '/' .. event end -- LIST: their data
local EVENT_BYTES_MAX = 4194304 -- size of all events of a workflow

local function owner_of_place(place) return string.match(place, '^[^/]*') end

-- Returns event, text and element of a wait.
local function wait_of(id)
  local entry = call('HGET', WAITS, id)
  if not entry then return end
  local event, text, start = string.match(entry, '^(%d+) (%d+) ()')
  local middle, last = start + tonumber(event), start + tonumber(event) + tonumber(text)
  return string.sub(entry, start, middle - 1), string.sub(entry, middle, last - 1), string.sub(entry, last)
end

local function forget_wait(id, place)
  local event = wait_of(id)
  if not event then return end
  call('ZREM', waiters_of(owner_of_place(place), event), id)
  call('ZREM', waiters_of(place, event), id)
  call('HDEL', WAITS, id)
end

local function forget_events(place)
  local events = call('HKEYS', event_names_of(place))
  for i = 1, #events do call('DEL', events_of(place, events[i])) end
  if #events > 0 then call('DEL', event_names_of(place)) end
end
