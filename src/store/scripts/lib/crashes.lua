-- crashes.lua - counts the consumers that were lost while they had a job.
-- uses: has

-- Returns how many consumers were lost with this job since its last outcome.
local function losses_of(id)
  local crash = call('HGET', CRASHES, id)
  return crash and tonumber(string.match(crash, '^%d+')) or 0
end

-- Returns whether recovery holds the lease of a job. Recovery leases a job whose consumers were lost too often, until
-- it has buried the job. The nonces of recovery begin with '!', unlike those of consumers.
local function is_recovering(nonce_or_claim) return string.byte(nonce_or_claim) == 33 end

-- Removes the count of a job's lost consumers. Called when the owner changes the job or an outcome is recorded.
local function forget_crashes(id)
  if has(CRASHES) then call('HDEL', CRASHES, id) end
end
