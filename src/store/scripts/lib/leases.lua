-- leases.lua - finds the lease of a job. Consumers are the parts of duepost that POST jobs; their leases are in
-- LEASES. Workers are clients that pull jobs over HTTP; their leases are in PULLED, see lease.lua.
-- uses: has

-- Returns the deadline of the job's lease, or false.
local function deadline_of(id) return call('ZSCORE', LEASES, id) or has(PULLED) and call('ZSCORE', PULLED, id) end

-- Returns whether a nonce, or a value of holders:<topic>, belongs to a worker's lease. Only the nonces of workers'
-- leases begin with 'p'. The value in holders:<topic> is 'nonce started callbacks due' for such a lease. started is
-- when the lease began, ms; callbacks is '+' if the job may have callbacks, else '-'; due is the job's due time.
local function is_pulled(nonce_or_claim) return string.byte(nonce_or_claim) == 112 end
