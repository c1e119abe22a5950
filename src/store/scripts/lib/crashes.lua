-- crashes.lua - counts the consumers that were lost while they had a job.
-- uses: has

-- Returns how many consumers were lost with this job since its last outcome.
local function losses_of(id)
  local crash = call('HGET', CRASHES, id)
  return crash and tonumber(string.match(crash, '^%d+')) or 0
end

-- A job whose consumers were lost too often is leased by recovery until recovery has buried it. The nonce of this
-- lease begins with '!', unlike all nonces of consumers.
local function is_recovering(nonce_or_claim) return string.byte(nonce_or_claim) == 33 end

-- Removes the count of lost consumers, because the owner or an outcome has changed the job.
local function forget_crashes(id)
  if has(CRASHES) then call('HDEL', CRASHES, id) end
end
