-- clock.lua - the time of a script, which is read once, in us and ms.
-- uses: keys

-- now is the time in whole ms, rounded down; a job is due when now has reached its due time. soonest is the next whole
-- ms, from which delays are counted, so that no job is early by a fraction of a ms.
local clock = call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)
local soonest = math.ceil(now_us / 1000)

-- Lua's tostring keeps only 14 digits of a number. '%d' costs a quarter of '%.0f', but it is correct only for
-- whole numbers, and only where a long has 64 bits.
local WHOLE = #string.format('%d', 1e12) == 13 and '%d' or '%.0f'
local EXACT_BELOW = 9007199254740992 -- 2^53
local function integer(number)
  return string.format(number % 1 == 0 and number % EXACT_BELOW == number and WHOLE or '%.0f', number)
end
