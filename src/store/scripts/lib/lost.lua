-- lost.lua - leases that ran out.
-- uses: clock

-- Members of key, LEASES or LINGERING, that ran out. A deadline that no lease could have now was written before Redis's
-- clock stepped back; its lease, were it alive, would have been renewed since.
local STEP_MS = 1000
local function lost_of(key, lease_ms, most)
  local lost = call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, most)
  if #lost > 0 then return lost end
  return call('ZRANGEBYSCORE', key, '(' .. integer(now + lease_ms + STEP_MS), '+inf', 'LIMIT', 0, most)
end
