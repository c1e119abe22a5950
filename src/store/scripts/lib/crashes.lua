-- crashes.lua - counts for each job how many consumers were lost while they attempted the job. A lost consumer has
-- crashed, or could not renew its lease.
-- uses: has

-- Returns the number of lost consumers in an entry of CRASHES, or 0 if there is no entry.
local function losses_in(crash) return crash and tonumber(string.match(crash, '^%d+')) or 0 end

-- Returns how many consumers were lost with this job since an attempt last had an outcome.
local function losses_of(id) return losses_in(call('HGET', CRASHES, id)) end

-- Returns whether the nonce of a lease (or the value in holders:<topic>, which begins with the nonce) belongs to
-- recovery. Recovery leases a job that has lost too many consumers, and then buries the job. The nonces of recovery
-- begin with '!'; those of consumers and workers do not.
local function is_recovering(nonce_or_claim) return string.byte(nonce_or_claim) == 33 end

-- Removes the count of a job's lost consumers. Called when the job's owner changes the job, and when an attempt has an
-- outcome.
local function forget_crashes(id)
  if has(CRASHES) then call('HDEL', CRASHES, id) end
end
