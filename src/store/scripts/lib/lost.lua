-- lost.lua - finds leases that ran out.
-- uses: clock

-- Workers lease jobs for up to this time.
local PULL_LEASE_MAX_MS = 43200000

-- Returns members of key (LEASES, PULLED, or LINGERING or PULL_LINGERING) that ran out. A lease that begins now gets
-- the latest possible deadline. A deadline that is later still was written before Redis's clock stepped back. A
-- living consumer would have renewed this lease since, so the lease is lost.
local STEP_MS = 1000
local function lost_of(key, lease_ms, most)
  local lost = call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, most)
  if #lost > 0 then return lost end
  return call('ZRANGEBYSCORE', key, '(' .. integer(now + lease_ms + STEP_MS), '+inf', 'LIMIT', 0, most)
end
