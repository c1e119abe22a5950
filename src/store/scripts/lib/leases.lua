-- leases.lua - who holds the lease of a job, where a job is, and leases that ran out.

local Leases = {uses = {Records}}

-- ---- holders ----

-- There are two kinds of holders; keys.lua has what is stored for each. Consumers are the parts of duepost that POST
-- jobs. They renew their leases every 2 s, so a lease that runs out was lost with its consumer, and no attempt is
-- counted. Workers are clients that pull jobs over HTTP, see lease.lua. A worker knows its deadline, so its lease is not
-- renewed after the deadline, its attempt has then failed, and a step of Redis's clock moves the deadline.

-- Returns the kind of the holder of a lease. nonce_or_claim: the nonce of the lease, or its value in holders:<topic>,
-- which begins with the nonce. Only the nonces of workers' leases begin with 'p'.
function Leases.holder(nonce_or_claim) return string.byte(nonce_or_claim) == 112 and WORKERS or CONSUMERS end

-- Returns the time by which the leases of a kind of holders end, ms.
function Leases.now_of(holder) return holder == CONSUMERS and clock.lease_now or now end

-- Returns the parts of a claim, which is the value of a lease in holders:<topic>: 'nonce due', or for a worker's lease
-- 'nonce began callbacks due'. due is the job's score before it was leased. began is when the lease began, ms; callbacks
-- is '+' if the job may have callbacks, else '-'. Returns nothing if the claim has another form.
function Leases.read_claim(claim)
  if Leases.holder(claim) == CONSUMERS then return string.match(claim, '^(%S+) (%S+)$') end
  local nonce, began, callbacks, due = string.match(claim, '^(%S+) (%d+) (%S+) (%S+)$')
  return nonce, due, began, callbacks
end

-- Returns the deadline of the job's lease and the kind of its holder, or false.
function Leases.deadline(id)
  local deadline = call('ZSCORE', CONSUMERS.leases, id)
  if deadline then return deadline, CONSUMERS end
  deadline = has(WORKERS.leases) and call('ZSCORE', WORKERS.leases, id)
  return deadline, deadline and WORKERS
end

-- Removes the job's deadline. Returns whether the job was leased.
function Leases.take(id)
  return call('ZREM', CONSUMERS.leases, id) == 1 or has(WORKERS.leases) and call('ZREM', WORKERS.leases, id) == 1
end

-- Returns the number of leases. from, to: only leases with a deadline between these scores.
function Leases.number(from, to)
  local number = 0
  for i = 1, #HOLDERS do number = number + call('ZCOUNT', HOLDERS[i].leases, from or '-inf', to or '+inf') end
  return number
end

-- ---- states ----

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

-- Returns members of key (the leases or the lingering attempts of a kind of holders) whose deadline has passed. If no
-- deadline has passed, returns members whose deadline is later than that of the longest lease that begins now. Such a
-- deadline was written before Redis's clock stepped back. A living consumer would have renewed the lease since then, so
-- the lease is lost. lease_ms: length of a consumer's lease. most: maximum number of members.
Leases.STEP_MS = 1000
function Leases.lost(holder, key, lease_ms, most)
  local time = Leases.now_of(holder)
  local lost = call('ZRANGEBYSCORE', key, '-inf', time, 'LIMIT', 0, most)
  if #lost > 0 then return lost end
  local latest = time + (holder.longest_ms or lease_ms) + Leases.STEP_MS
  return call('ZRANGEBYSCORE', key, '(' .. integer(latest), '+inf', 'LIMIT', 0, most)
end

return Leases
