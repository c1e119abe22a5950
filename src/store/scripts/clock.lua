-- clock.lua - moves the manual clock (lib/manual_clock.lua) to the next event, but only if all that is due by now is
-- over. An event is a time at which something must happen: a job is due or expires, a schedule fires, a worker's lease
-- runs out. Only the library of --clock manual has this script.
--
-- ARGV[2] the clock is not moved beyond this time, ms; or '+inf'   [3] 1: until nothing but schedules is left   [4] 1:
--      moves the clock; 0: only looks
-- Returns {now_us, state, time of the next event, ms, or -1, number of attempts in flight}. state: 0 something that is
-- due is not over; 1 the clock can be moved, or was moved; 2 it shows the time of ARGV[2], or nothing is left.

local BUSY, MOVED, REACHED = 0, 1, 2
local FORGET_MAX = 1000

local function first_of(key) return tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or 'inf') end

local function attempts_in_flight() return call('ZCARD', CONSUMERS.leases) + call('ZCARD', CONSUMERS.lingering) end

-- Returns the first time at which a schedule fires. Schedules that the full pool keeps from firing do not count.
local function first_fire()
  local first, at, jobs = first_of(FIRES), string.match(call('HGET', META, 'fires_full') or '', '^(%d+) (%d+)$')
  if first > now or tonumber(at) ~= now or call('HLEN', JOBS) < tonumber(jobs) then return first end
  return tonumber(call('ZRANGEBYSCORE', FIRES, '(' .. integer(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or 'inf')
end

-- Returns the first time at which a job or a worker needs the clock, and at which a schedule does.
local function first_events()
  return math.min(first_of(DUE), first_of(EXPIRIES), first_of(WORKERS.leases), first_of(WORKERS.lingering)), first_fire()
end

local function has_walks()
  local walks = call('HMGET', META, 'reoffer', 'reoffer_lines', 'resume_held')
  return walks[1] or walks[2] or walks[3] or call('EXISTS', RESUMING, TURNS, base .. 'openings_wanted') > 0
end

-- Returns whether removals by age are due. Only the end of a move waits for them.
local function has_removals()
  return math.min(first_of(KEPT_UNTIL), first_of(DEAD_DUE), first_of(WINDOWS), first_of(SENDS_UNTIL)) <= now
end

local function move_to(at)
  call('HSET', META, 'clock_us', integer(at * 1000), 'clock', integer(at))
  call('HDEL', META, 'rest')
  local keys = call('ZRANGEBYSCORE', base .. 'forgets', '-inf', at, 'LIMIT', 0, FORGET_MAX)
  if #keys > 0 then
    call('DEL', unpack(keys))
    call('ZREM', base .. 'forgets', unpack(keys))
  end
  publish('clock ' .. integer(at * 1000))
  return at * 1000
end

script('clock', {'allow-oom'}, {}, function()
  local limit, is_until_idle, is_move = tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4] == '1'
  probe_slot()
  local flying = attempts_in_flight()
  local jobs_at, fires_at = first_events()
  local event = math.min(jobs_at, fires_at)
  local next_at = event < math.huge and event or -1
  if flying > 0 or event <= now or has_walks() then return {now_us, BUSY, next_at, flying} end
  local is_over = is_until_idle and jobs_at == math.huge
  local at = math.min(event, limit)
  if is_over or at <= now or at == math.huge then return {now_us, has_removals() and BUSY or REACHED, next_at, 0} end
  if not is_move then return {now_us, MOVED, next_at, 0} end
  return {move_to(math.ceil(at)), MOVED, next_at, 0}
end)
