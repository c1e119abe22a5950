-- waits.lua - workflows that wait for an event, and events that wait for a workflow.
--
-- A wait is a job that is due at its deadline. At the deadline, its element is appended and the job is
-- delivered. If the event comes first, another element is appended instead. WAITS has '<size of the event>
-- <size of the text> ', the event, a text of the caller, and the element.
--
-- The events that are kept have three sizes: of each name, of each workflow (the field '' of event_names), and of all
-- workflows (the field event_bytes of numbers). So requests to webhooks, which need no token, cannot fill Redis.
-- uses: keys waiting

local WAITS = base .. 'waits' -- id of the job -> see above
local function waiters_of(scope, event) return base .. 'waiters:' .. scope .. '/' .. event end -- job -> when its wait began; scope: an owner or a workflow's place
local function event_names_of(place) return base .. 'event_names:' .. place end -- HASH: kept event -> its size; '': size of all
local function events_of(place, event) return base .. 'events:' .. place .. '/' .. event end -- LIST: their data
local EVENT_OVERHEAD = 100
local EVENT_BYTES_MAX, ALL_EVENT_BYTES_MAX = 4194304, 268435456 -- size of the events of a workflow, and of all workflows

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

local function add_event_bytes(bytes)
  if bytes == 0 then return end -- Redis does not take -0
  if call('HINCRBY', NUMBERS, 'event_bytes', bytes) == 0 then call('HDEL', NUMBERS, 'event_bytes') end
end

-- Keeps an event. Returns false if there is no room.
local function put_event(place, event, data)
  local names, size = event_names_of(place), EVENT_OVERHEAD + #event + #data
  local all = tonumber(call('HGET', NUMBERS, 'event_bytes') or 0)
  if tonumber(call('HGET', names, '') or 0) + size > EVENT_BYTES_MAX or all + size > ALL_EVENT_BYTES_MAX then return false end
  call('RPUSH', events_of(place, event), data)
  call('HINCRBY', names, event, size)
  call('HINCRBY', names, '', size)
  add_event_bytes(size)
  return true
end

local function forget_events(place)
  local names = event_names_of(place)
  local events = call('HKEYS', names)
  if #events == 0 then return end
  for i = 1, #events do call('DEL', events_of(place, events[i])) end
  add_event_bytes(-tonumber(call('HGET', names, '') or 0))
  call('DEL', names)
end

-- Removes the first event that is kept under this name. Versions before 0.3 kept events without the size ''.
local function take_event(place, event)
  local names, size = event_names_of(place), EVENT_OVERHEAD + #event + #call('LPOP', events_of(place, event))
  call('HINCRBY', names, event, -size)
  call('HINCRBY', names, '', -size)
  add_event_bytes(-size)
  if call('EXISTS', events_of(place, event)) == 1 then return end
  call('HDEL', names, event)
  if call('HLEN', names) == 1 then forget_events(place) end
end
