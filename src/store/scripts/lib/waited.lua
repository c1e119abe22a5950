-- waited.lua - jobs for whose end, or next change, requests wait.

local Waited = {uses = {}}

-- The sorted set has id -> time until which messages about the job are needed, ms. A job whose id is there is kept for a
-- while after its end (ended.lua), so that a process that was cut off from Redis still finds it. The key has no name in
-- keys.lua, because few installations have it.
local WAITED
Waited.KEPT_MS = 60000

function Waited.is_used() return has(WAITED) end

-- The messages are 'moved' or 'ended', and ids that newlines separate. If a message is lost, the other processes find
-- the change when they ask again.
local function tell(what, ids) publish(what .. ' ' .. table.concat(ids, '\n')) end

function Waited.note(id, until_ms)
  call('ZADD', WAITED, 'GT', integer(until_ms), id)
  is_there[WAITED] = true
end

-- ---- ends ----

local ended = {} -- awaited jobs that this call has ended
local is_ended = {}
function Waited.is_ended(id) return is_ended[id] end

-- Called when a job ends. Returns whether a request waits for this.
function Waited.take(id)
  if not Waited.is_used() or call('ZREM', WAITED, id) == 0 then return is_ended[id] end
  ended[#ended + 1], is_ended[id] = id, true
  return true
end

-- Returns id -> true for those of these jobs that a request waits for, or nothing.
function Waited.among(ids)
  local scores, awaited = Waited.is_used() and #ids > 0 and call('ZMSCORE', WAITED, unpack(ids)), nil
  for i = 1, scores and #ids or 0 do
    if scores[i] then
      awaited = awaited or {}
      awaited[ids[i]] = true
    end
  end
  return awaited
end

-- Called at the end of a script that ends jobs.
function Waited.finish()
  if #ended > 0 then tell('ended', ended) end
  ended = {}
end

-- ---- other changes ----

-- Called when jobs have changed without an end. list: the ids are its entries 2, 4, 6 ...
function Waited.note_moved(list)
  local ids, moved = {}, {}
  for i = 2, #list, 2 do ids[#ids + 1] = list[i] end
  local awaited = Waited.among(ids)
  for id in pairs(awaited or {}) do moved[#moved + 1] = id end
  table.sort(moved)
  if #moved > 0 then tell('moved', moved) end
end

-- ---- entries whose time is over ----

function Waited.has_old()
  return Waited.is_used() and call('ZRANGEBYSCORE', WAITED, '-inf', integer(clock.lease_now), 'LIMIT', '0', '1')[1]
end

function Waited.forget(most)
  local ids = Waited.is_used() and call('ZRANGEBYSCORE', WAITED, '-inf', integer(clock.lease_now), 'LIMIT', '0', most) or {}
  if #ids > 0 then call('ZREM', WAITED, unpack(ids)) end
end

function Waited.begin()
  WAITED = base .. 'waited'
  if next(is_ended) then ended, is_ended = {}, {} end
end

return Waited
