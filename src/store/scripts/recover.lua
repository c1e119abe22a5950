-- recover.lua - looks at leases that ran out, of one kind of holders (lib/leases.lua).
--
-- A consumer was lost. The receivers have not failed, so no attempt is counted: the job returns to the waiting jobs.
-- After the first loss of a consumer, the job is due at once, with its old time. After the second, third and fourth
-- loss, it waits for a random time, so that a job that ends its consumers does not end them every few seconds. It is
-- then a suspect, see lib/suspects.lua. After the fifth loss, the script leases the job to the caller and lists it.
-- A worker's lease that ran out counts as a failed attempt: the script lists it.
--
-- The caller ends each listed lease with its nonce. If the caller dies before that, a later call lists the job again:
-- the worker's lease is still there, and that of the caller runs out. The attempts of cancelled jobs whose deadlines
-- have passed no longer count as in flight.
--
-- ARGV[2] consumers or workers   [3] lease of a consumer, ms   [4] time that Redis's clock should show by the caller's
--      reckoning, ms   [5] maximum number of jobs, and of attempts of cancelled jobs
-- ARGV[6] a seed   [7] the caller's nonce, see Attempts.is_recovering
-- Returns {now_us, -1} if the clock has stepped by more than a second, because living consumers must first get the
-- time to renew their leases. Otherwise returns {now_us, number of leases that ran out, number of listed jobs, then for
-- each of these jobs, up to a few MiB: id, nonce, due time, time of the lease, record; then topic, settings, ... of
-- their topics}.

local lease_ms, recoverer
local LOSSES_MAX = 5
local replies, topics, is_told

local function list(id, nonce, due, began, record)
  Records.bytes_left = Records.bytes_left - #record
  for _, word in ipairs({id, nonce, tonumber(due) or now, tonumber(began), record}) do replies[#replies + 1] = word end
  replies[3] = replies[3] + 1
  local topic = topic_of(id)
  if not is_told[topic] then topics[#topics + 1] = topic end
  is_told[topic] = true
end

-- Ends a lease that the caller cannot end, because its nonce or the job's record is missing. If the job has a record,
-- it is due now; otherwise its remaining data is removed.
local function repair(id, record)
  Places.take(id)
  Places.touch(topic_of(id), 'all')
  Attempts.forget_progress(id)
  if record then Places.put(id, now) else Attempts.forget_all(id) end
end

local function give_back(id, losses, due)
  local at = losses > 1 and now + math.random(0, 2 ^ losses * lease_ms)
  Places.take(id)
  Places.touch(topic_of(id), 'all')
  Places.put_for_retry(id, due, at)
end

local function lose_consumer(id, nonce, due)
  if not tonumber(due) then nonce, due = '-', integer(now) end -- the stored value is not one that duepost writes
  local losses = Attempts.losses(id)
  if not Attempts.is_recovering(nonce) then
    losses = losses + 1
    call('HSET', CRASHES, id, losses .. ' ' .. nonce)
  end
  if losses < LOSSES_MAX then return give_back(id, losses, due) end
  local record = call('HGET', JOBS, id)
  if not record then return repair(id) end
  call('HSET', holders_of(topic_of(id)), id, recoverer .. ' ' .. due)
  call('ZADD', CONSUMERS.leases, integer(clock.lease_now + lease_ms), id)
  list(id, recoverer, due, now, record)
end

local function fail_attempt(id, nonce, due, began)
  local record = call('HGET', JOBS, id)
  if began and record then list(id, nonce, due, began, record) else repair(id, record) end
end

script('recover', {'allow-oom'}, {Attempts, Leases, Lingering, Places, Records}, function()
  local holder = ARGV[2] == 'workers' and WORKERS or CONSUMERS
  lease_ms, recoverer = tonumber(ARGV[3]), ARGV[7]
  if math.abs(now - tonumber(ARGV[4])) > Leases.STEP_MS then return {now_us, -1} end
  math.randomseed(tonumber(ARGV[6]))
  local ids = Leases.lost(holder, holder.leases, lease_ms, ARGV[5])
  local lingering = has(holder.lingering) and Leases.lost(holder, holder.lingering, lease_ms, ARGV[5]) or {}
  replies, topics, is_told = {now_us, 0, 0}, {}, {}
  probe()
  for i = 1, #ids do
    local id = ids[i]
    if Records.has_read_enough() then break end
    replies[2] = i
    local nonce, due, began = Leases.read_claim(call('HGET', holders_of(topic_of(id)), id) or '')
    if holder == CONSUMERS then lose_consumer(id, nonce, due) else fail_attempt(id, nonce, due, began) end
  end
  for i = 1, #lingering do
    Lingering.free(lingering[i])
    Places.touch(topic_of(lingering[i]))
  end
  Places.finish()
  add_settings(replies, topics)
  return replies
end)
