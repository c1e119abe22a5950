-- clock.lua - the time of a script, which is read once, in us and ms.
-- uses: keys

-- A job is due when now, in whole ms, has reached its time. A delay counts from soonest, the next whole ms,
-- so that no job is early by a fraction of a ms.
local clock = call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)
local soonest = math.ceil(now_us / 1000)

-- Lua's own number to text keeps 14 digits only.
local function integer(number) return string.format('%.0f', number) end
