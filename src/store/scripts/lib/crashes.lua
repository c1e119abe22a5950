-- crashes.lua - counts the consumers that were lost while they had a job.
-- uses: has

-- Returns how many consumers of the job were lost since its last outcome.
local function losses_of(id)
  local crash = call('HGET', CRASHES, id)
  return crash and tonumber(string.match(crash, '^%d+')) or 0
end

-- Recovery leases a job whose consumers were lost too often, until it is buried. The nonce of such a claim
-- begins with '!'. No nonce of a consumer does.
local function is_recovering(nonce_or_claim) return string.byte(nonce_or_claim) == 33 end

-- Removes the count of lost consumers, because the owner or an outcome has changed the job.
local function forget_crashes(id)
  if has(CRASHES) then call('HDEL', CRASHES, id) end
end
