-- leases.lua - both kinds of leases: LEASES has those of consumers, and PULLED those of workers, see lease.lua.
-- uses: has

-- Returns the deadline of the job's lease, or false.
local function deadline_of(id) return call('ZSCORE', LEASES, id) or has(PULLED) and call('ZSCORE', PULLED, id) end

-- The nonce of a worker's lease begins with 'p'; no other nonce does. The note of its claim is 'nonce started
-- callbacks due': when the lease began, ms, and '+' if the job may have callbacks, or '-'.
local function is_pulled(nonce_or_claim) return string.byte(nonce_or_claim) == 112 end
