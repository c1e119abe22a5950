-- calendar.lua - the sorted set "due": topics, each with the time at which its first job is due, or from which it may
-- be served again. At that time the carry worker offers the topic (offer.lua).
-- uses: keys publish

local DUE = base .. 'due'

-- The carry worker sleeps until the first time in "due". So each script that makes the first time earlier must wake the
-- carry worker.
local first_before, first_after
local function note_due(at)
  first_before = first_before or tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2] or 'inf')
  if not first_after or tonumber(at) < tonumber(first_after) then first_after = at end
end

local function wake()
  if first_after and tonumber(first_after) < first_before then publish(first_after) end
end
