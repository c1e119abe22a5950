-- lost.lua - leases that ran out.
-- uses: clock

-- Ids of leases that ran out. A deadline that no lease could have now was written before Redis's clock
-- stepped back; its lease, were it alive, would have been renewed since.
local STEP_MS = 1000
local function lost_leases(lease_ms, most)
  local ids = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, most)
  if #ids > 0 then return ids end
  return call('ZRANGEBYSCORE', LEASES, '(' .. integer(now + lease_ms + STEP_MS), '+inf', 'LIMIT', 0, most)
end
