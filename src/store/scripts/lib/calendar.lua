-- calendar.lua - the ZSET due, which has for each topic the time at which it must be offered next.
-- uses: keys publish

local DUE = base .. 'due'

-- The carry worker sleeps until the first time in "due", so each script that makes this time earlier must wake
-- it.
local first_before, first_after
local function note_due(at)
  first_before = first_before or tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2] or 'inf')
  if not first_after or tonumber(at) < tonumber(first_after) then first_after = at end
end

local function wake()
  if first_after and tonumber(first_after) < first_before then publish(first_after) end
end
