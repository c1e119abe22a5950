-- clock_steps.lua - what follows from a step of Redis's clock: nothing is removed by age for some time, and the
-- deadlines of workers' leases move.

local ClockSteps = {uses = {Leases}}

-- ---- removals by age ----

-- If Redis's clock steps ahead, all data is old at once. So for some minutes after a step, nothing is removed by age:
-- there is time to set the clock right.
--
-- META has two times, in ms: 'clock', a time that Redis's clock has shown lately, written by the owner of the carry
-- lock (carry.lua); and 'rest', until when nothing is removed. While no duepost runs, the clock is not watched. So a
-- long time without a duepost has the same effect as a step.
local REST_MS, GAP_MS, AHEAD_MS, MARK_MS = 300000, 3600000, 10000, 600000

-- Returns whether nothing may be removed by age now. If the clock has stepped back since 'rest' was written, that time
-- may be far in the future; it is then not used.
function ClockSteps.removals_rest()
  local seen = call('HMGET', META, 'clock', 'rest')
  local at, rest = tonumber(seen[1]), tonumber(seen[2])
  return at and now - at > GAP_MS or rest and rest > now and rest - now <= REST_MS or false
end

-- Called each second by the owner of the carry lock, which expects that the clock shows expected_ms now, or less; -1:
-- it does not know the clock yet. Notes a step ahead. Returns whether nothing may be removed by age now.
function ClockSteps.watch(expected_ms)
  local seen = call('HMGET', META, 'clock', 'rest', 'born')
  local at, rest = tonumber(seen[1] or seen[3]), tonumber(seen[2])
  if at and now - at > GAP_MS or expected_ms >= 0 and now - expected_ms > AHEAD_MS then
    call('HSET', META, 'clock', integer(now), 'rest', integer(now + REST_MS))
    return true
  end
  local rests = rest and rest > now and rest - now <= REST_MS
  if rest and not rests then call('HDEL', META, 'rest') end
  if not seen[1] or math.abs(now - at) >= MARK_MS then call('HSET', META, 'clock', integer(now)) end
  return rests
end

-- ---- deadlines of workers' leases ----

-- The answer to a worker says how long its lease lasts, so the deadline moves with the clock. (A consumer renews its
-- leases every 2 s, so theirs need no correction.)
--
-- The field leap of META has the steps whose walk is not over: 'key/ms/at/from', separated by ';'. key: the sorted set
-- that the walk visits, WORKERS.leases and then WORKERS.lingering, without the prefix. ms: how far the clock has stepped. at: when
-- the step was noticed. from: the walk has visited the deadlines up to this one; after a step forward it begins with
-- the last deadline, after a step back with the first one, so that it never meets a deadline that it has moved.

function ClockSteps.start(step_ms)
  if not has(WORKERS.leases) and not has(WORKERS.lingering) then return end
  local first = table.concat({'pulled', integer(step_ms), integer(now), step_ms > 0 and '+inf' or '-inf'}, '/')
  local before = call('HGET', META, 'leap')
  call('HSET', META, 'leap', before and before .. ';' .. first or first)
end

-- Returns the new deadline of a lease, or the old one if the lease was taken, or extended, after the step. began: when
-- the lease was taken, or nothing for the lease of a cancelled job.
local function deadline_after(deadline, began, step_ms, at)
  if step_ms > 0 then return (not began or began <= at - step_ms / 2) and deadline + step_ms or deadline end
  if deadline + step_ms > at then return deadline + step_ms end
  return began and began > at + Leases.STEP_MS and at or deadline
end

-- Moves the next deadlines, about most. Returns their number, and whether the walk must continue.
function ClockSteps.step(most)
  local text = call('HGET', META, 'leap')
  local name, step_ms, at, from, others = string.match(text or '', '^([^/]+)/([^/]+)/(%d+)/([^;]+);?(.*)$')
  if not name then return 0, false end
  local key, is_forward = base .. name, tonumber(step_ms) > 0
  local page = is_forward and call('ZRANGE', key, '(' .. from, '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', most, 'WITHSCORES')
    or call('ZRANGE', key, '(' .. from, '+inf', 'BYSCORE', 'LIMIT', '0', most, 'WITHSCORES')
  local is_over, last = #page < 2 * most, page[#page]
  if not is_over then -- the other leases with the last deadline
    local same = call('ZRANGE', key, last, last, 'BYSCORE')
    for i = 1, #same do page[#page + 1], page[#page + 2] = same[i], last end
  end
  local is_moved = {}
  for i = 1, #page, 2 do
    local id, deadline = page[i], tonumber(page[i + 1])
    local _, _, began = Leases.read_claim(call('HGET', holders_of(topic_of(id)), id) or '')
    local new = deadline_after(deadline, tonumber(began), tonumber(step_ms), tonumber(at))
    if new ~= deadline and not is_moved[id] then call('ZADD', key, 'XX', integer(new), id) end
    is_moved[id] = true
  end
  local rest = others
  if not is_over or name == 'pulled' then
    local next_name, next_from = is_over and 'pull_lingering' or name, is_over and (is_forward and '+inf' or '-inf') or last
    rest = table.concat({next_name, step_ms, at, next_from}, '/') .. (others ~= '' and ';' .. others or '')
  end
  if rest ~= '' then call('HSET', META, 'leap', rest) else call('HDEL', META, 'leap') end
  return #page / 2, rest ~= ''
end

return ClockSteps
