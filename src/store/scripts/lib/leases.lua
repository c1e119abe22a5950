-- leases.lua - both kinds of leases: LEASES has those of consumers, and PULLED those of workers, see lease.lua.
-- uses: has

-- Returns the deadline of the job's lease, or false.
local function deadline_of(id) return call('ZSCORE', LEASES, id) or has(PULLED) and call('ZSCORE', PULLED, id) end

-- The nonce of a worker's lease begins with 'p', unlike all other nonces. The value of such a lease in holders:<topic>
-- is 'nonce started callbacks due': started is when the lease began, ms; callbacks is '+' if the job may have
-- callbacks, else '-'.
local function is_pulled(nonce_or_claim) return string.byte(nonce_or_claim) == 112 end
