-- resumed.lua - notes when waiting jobs of a topic were last resumed after a hold or a pause. A job that was due before
-- this time did not wait for duepost: claim.lua returns this time, too, and the time before it does not count as
-- lateness.
-- uses: clock has

-- The sorted set RESUMED has topic -> time, ms. Entries are kept for RESUMED_KEPT_MS.
local RESUMED_KEPT_MS = 86400000
local resumed = {}
-- rare: resumed
local function note_resumed(topic)
  if resumed[topic] then return end
  resumed[topic] = true
  call('ZADD', RESUMED, integer(now), topic)
  call('ZREMRANGEBYSCORE', RESUMED, '-inf', integer(now - RESUMED_KEPT_MS))
  call('PEXPIRE', RESUMED, integer(RESUMED_KEPT_MS))
  is_there[RESUMED] = true
end
