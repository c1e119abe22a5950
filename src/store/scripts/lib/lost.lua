-- lost.lua - finds leases that ran out.
-- uses: clock

-- The longest lease that a worker can request.
local PULL_LEASE_MAX_MS = 43200000

-- Returns members of key (LEASES, PULLED, LINGERING or PULL_LINGERING) whose deadline has passed. If no deadline has
-- passed, returns members whose deadline is later than that of a lease that begins now. Such a deadline was written
-- before Redis's clock stepped back. A living consumer would have renewed the lease since then, so the lease is lost.
-- most: maximum number of members.
local STEP_MS = 1000
local function lost_of(key, lease_ms, most)
  local lost = call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, most)
  if #lost > 0 then return lost end
  return call('ZRANGEBYSCORE', key, '(' .. integer(now + lease_ms + STEP_MS), '+inf', 'LIMIT', 0, most)
end
