-- leases.lua - finds the lease of a job, where a job is, and leases that ran out.

local Leases = {uses = {Records}}

-- Consumers are the parts of duepost that POST jobs; their leases are in LEASES. Workers are clients that pull jobs
-- over HTTP; their leases are in PULLED, see lease.lua.

-- Returns the deadline of the job's lease, or false.
function Leases.deadline(id) return call('ZSCORE', LEASES, id) or has(PULLED) and call('ZSCORE', PULLED, id) end

-- Returns whether a nonce, or a value of holders:<topic>, belongs to a worker's lease. Only the nonces of workers'
-- leases begin with 'p'. The value in holders:<topic> is 'nonce started callbacks due' for such a lease. started is
-- when the lease began, ms; callbacks is '+' if the job may have callbacks, else '-'; due is the job's due time.
function Leases.is_pulled(nonce_or_claim) return string.byte(nonce_or_claim) == 112 end

-- Returns the state of a job ('leased', 'ready' or 'delayed') and the score of its id there: the lease's deadline or
-- the due time. Returns nothing if the id is neither in the leases nor among the topic's waiting jobs (its bucket).
function Leases.locate(id)
  local score = Leases.deadline(id)
  if score then return 'leased', score end
  score = call('ZSCORE', bucket_of(topic_of(id)), id)
  if score then return is_due(score) and 'ready' or 'delayed', score end
end

-- Returns the answer to a request for a new job if a job that has not ended already has the same id: {state, due,
-- record} of this job, or AGAIN (results.list). scheduled: the due time of the existing job, if an earlier item of this
-- call has scheduled it and its id is not among the waiting jobs yet. If data was lost and the id is in neither the
-- leases nor the waiting jobs, the job counts as ready, because the janitor will make it ready.
function Leases.existing(id, scheduled)
  local record = Records.read(id)
  if not record then return RESULT.AGAIN end
  local state, score = Leases.locate(id)
  score = tonumber(score) or scheduled or now
  return {state or (score > now and 'delayed' or 'ready'), score, record}
end

-- ---- leases that ran out ----

-- The longest lease that a worker can request.
Leases.PULL_LEASE_MAX_MS = 43200000

-- Returns members of key (LEASES, PULLED, LINGERING or PULL_LINGERING) whose deadline has passed. If no deadline has
-- passed, returns members whose deadline is later than that of a lease that begins now. Such a deadline was written
-- before Redis's clock stepped back. A living consumer would have renewed the lease since then, so the lease is lost.
-- most: maximum number of members.
Leases.STEP_MS = 1000
function Leases.lost(key, lease_ms, most)
  local lost = call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, most)
  if #lost > 0 then return lost end
  return call('ZRANGEBYSCORE', key, '(' .. integer(now + lease_ms + Leases.STEP_MS), '+inf', 'LIMIT', 0, most)
end

return Leases
