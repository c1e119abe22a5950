-- events.lua - waits: workflows that wait for an event. Also events that have come before a workflow waits for them,
-- and are kept until then.
--
-- A wait is a job of the workflow whose due time is the deadline of the wait. At the deadline, the wait's element (the
-- result of a step) is appended to the workflow, and the job is delivered. If the event comes first, another job and
-- its element, which has the event, replace the wait. The hash WAITS has for each wait '<size of the event's name>
-- <size of the text> ', the event's name, a text of the caller, and the element for the deadline.
--
-- An event whose name begins with HOOK is a request to a webhook, which needs no token. A workflow's own webhooks are
-- fields of its hash, with the names of their events.
--
-- The size of the kept events is limited for each workflow and for all workflows together, so requests to webhooks
-- cannot fill Redis. They may take only a part of the room of their workflow, because the rest is for clients with
-- tokens. Four sizes are stored: that of the events with each name, that of each workflow (the field '' of
-- event_names), that of its webhooks (the field HOOK), and that of all workflows (the field event_bytes of NUMBERS).

local Events = {uses = {Workflows}}

-- id of the wait's job -> when the wait began. scope: an owner topic or the place of a workflow (workflows.lua)
function Events.waiters_key(scope, event) return base .. 'waiters:' .. scope .. '/' .. event end

-- HASH: name of kept events -> their size; '' -> size of all kept events
local function event_names_of(place) return base .. 'event_names:' .. place end

-- LIST: the data of the kept events with this name
function Events.key(place, event) return base .. 'events:' .. place .. '/' .. event end

local EVENT_OVERHEAD = 100
local EVENT_BYTES_MAX, ALL_EVENT_BYTES_MAX = 4194304, 268435456 -- limits of the size for a workflow, and for all workflows
local HOOK, HOOK_BYTES_MAX = 'webhook\n', 2097152 -- limit of the size for the webhooks of a workflow

function Events.is_hook(event) return string.sub(event, 1, #HOOK) == HOOK end

-- Notes that a webhook belongs to a workflow.
function Events.note_hook(place, event) call('HSET', Workflows.key(place), event, '') end

function Events.copy_hooks(from, to)
  local fields = call('HKEYS', Workflows.key(from))
  for i = 1, #fields do
    if Events.is_hook(fields[i]) then Events.note_hook(to, fields[i]) end
  end
end

function Events.owner_of_place(place) return string.match(place, '^[^/]*') end

-- Returns the event's name, the text and the element of a wait, or nothing if the job is not a wait or the entry of the
-- wait cannot be read.
function Events.wait(id)
  local entry = call('HGET', WAITS, id)
  if not entry then return end
  local event, text, start = string.match(entry, '^(%d+) (%d+) ()')
  if not start then return end
  local middle, last = start + tonumber(event), start + tonumber(event) + tonumber(text)
  return string.sub(entry, start, middle - 1), string.sub(entry, middle, last - 1), string.sub(entry, last)
end

function Events.forget_wait(id, place)
  local event = Events.wait(id)
  if not event then return end
  call('ZREM', Events.waiters_key(Events.owner_of_place(place), event), id)
  call('ZREM', Events.waiters_key(place, event), id)
  call('HDEL', WAITS, id)
end

local function add_event_bytes(bytes)
  if bytes == 0 then return end -- Redis refuses the number -0
  if call('HINCRBY', NUMBERS, 'event_bytes', bytes) == 0 then call('HDEL', NUMBERS, 'event_bytes') end
end

-- Keeps an event until the workflow waits for it. Returns false if a limit of size is reached.
function Events.put(place, event, data)
  local names, size = event_names_of(place), EVENT_OVERHEAD + #event + #data
  if Events.is_hook(event) and tonumber(call('HGET', names, HOOK) or 0) + size > HOOK_BYTES_MAX then return false end
  local all = tonumber(call('HGET', NUMBERS, 'event_bytes') or 0)
  if tonumber(call('HGET', names, '') or 0) + size > EVENT_BYTES_MAX or all + size > ALL_EVENT_BYTES_MAX then return false end
  call('RPUSH', Events.key(place, event), data)
  call('HINCRBY', names, event, size)
  call('HINCRBY', names, '', size)
  if Events.is_hook(event) then call('HINCRBY', names, HOOK, size) end
  add_event_bytes(size)
  return true
end

-- Returns the names of the events that are kept for a workflow.
function Events.names(place)
  local names = {}
  for _, event in ipairs(call('HKEYS', event_names_of(place))) do
    if event ~= '' and event ~= HOOK then names[#names + 1] = event end
  end
  return names
end

function Events.forget_all(place)
  local names = event_names_of(place)
  local events = call('HKEYS', names)
  if #events == 0 then return end
  for i = 1, #events do call('DEL', Events.key(place, events[i])) end
  add_event_bytes(-tonumber(call('HGET', names, '') or 0))
  call('DEL', names)
end

-- Gives back the room of a webhook's event. Versions before 0.3 did not store the size of these events.
local function shrink_hooks(names, size)
  if call('HEXISTS', names, HOOK) == 1 and call('HINCRBY', names, HOOK, -size) <= 0 then call('HDEL', names, HOOK) end
end

-- Removes the oldest kept event with this name. Versions before 0.3 did not store the size of all kept events.
function Events.take(place, event)
  local names, size = event_names_of(place), EVENT_OVERHEAD + #event + #call('LPOP', Events.key(place, event))
  call('HINCRBY', names, event, -size)
  call('HINCRBY', names, '', -size)
  add_event_bytes(-size)
  if Events.is_hook(event) then shrink_hooks(names, size) end
  if call('EXISTS', Events.key(place, event)) == 1 then return end
  call('HDEL', names, event)
  if call('HLEN', names) == 1 then Events.forget_all(place) end
end

return Events
