-- clock.lua - one reading of the clock a script, in us and ms.
-- uses: keys

-- A job is due when now has reached its time, in whole ms; what
-- counts from now on counts from soonest, the next whole ms, so that nothing is early by a fraction.
local clock = call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)
local soonest = math.ceil(now_us / 1000)

-- Lua's own number to text keeps 14 digits only.
local function integer(number) return string.format('%.0f', number) end
