-- manual_clock.lua - the clock of a server with --clock manual (clock.h), whose library ends with this file. Its scripts
-- read a time that stands still in META until clock.lua moves it. Only the leases of consumers and the time that a step
-- may take follow the clock of Redis.

clock.is_manual = true

-- A key that would expire is noted here, with the time in ms at which clock.lua removes it.
local function forgets() return base .. 'forgets' end

local function manual_call(command, ...)
  if command == 'TIME' then
    local us = tonumber(redis.call('HGET', META, 'clock_us'))
    return us and {math.floor(us / 1000000), us % 1000000} or redis.call('TIME')
  end
  if command == 'PEXPIRE' then
    local key, ms = ...
    return redis.call('ZADD', forgets(), integer(now + ms), key)
  end
  return redis.call(command, ...)
end

local begin_keys_before, begin_base_before, began_us = begin_keys, begin_base, nil

begin_keys = function(keys, arguments)
  begin_keys_before(keys, arguments)
  call = manual_call
end

local function read_redis_us()
  local at = redis.call('TIME')
  return at[1] * 1000000 + at[2]
end

begin_base = function()
  begin_base_before()
  began_us = read_redis_us()
  clock.lease_now = math.floor(began_us / 1000)
end

-- Notes that a schedule could not fire at this time, because the pool was full with this number of jobs. They may wait for the clock,
-- so the clock must not wait for the schedule.
clock.note_full = function() call('HSET', META, 'fires_full', integer(now) .. ' ' .. call('HLEN', JOBS)) end

clock.spent_us = function() return read_redis_us() - began_us end
