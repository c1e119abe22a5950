-- clock.lua - the current time, in us and ms. A script reads the time of Redis once, so all its steps have the same
-- time.
-- uses: keys

-- now is the time in ms, rounded down. A job is due when now has reached its due time. soonest is the time in ms,
-- rounded up. Delays are counted from soonest, so that no job is early by a fraction of a ms.
local clock = call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)
local soonest = math.ceil(now_us / 1000)

-- Returns a number as text without a fraction. Lua's tostring would keep only 14 digits. The format '%d' takes a
-- quarter of the time of '%.0f', but it is correct only for whole numbers, and only where a C long has 64 bits.
local WHOLE = #string.format('%d', 1e12) == 13 and '%d' or '%.0f'
local EXACT_BELOW = 9007199254740992 -- 2^53
local function integer(number)
  return string.format(number % 1 == 0 and number % EXACT_BELOW == number and WHOLE or '%.0f', number)
end
