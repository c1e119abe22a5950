-- recover.lua - returns jobs of consumers that were lost (their leases ran out) to the waiting jobs. The receivers have
-- not failed, so no attempt is counted.
--
-- After the first loss of a consumer, the job is due at once, with its old time. After the second, third and fourth
-- loss, it waits for a random time, so that a job that ends its consumers does not end them every few seconds. It is
-- then a suspect, see lib/suspects.lua. After the fifth loss, the script leases the job to the caller and lists it, up
-- to a few MiB of such jobs in one call. The caller buries the job with its follow-ups, see follow_ups.lua. If
-- the caller dies first, its lease runs out, and a later call lists the job again. If the consumer of a cancelled job
-- was lost, its attempt no longer counts as in flight.
--
-- ARGV[2] lease, ms   [3] time that Redis's clock should show by the caller's reckoning, ms   [4] maximum number of
--      jobs, and of attempts of cancelled jobs
-- ARGV[5] a seed   [6] the caller's nonce, see Attempts.is_recovering
-- Returns {now_us, -1} if the clock has stepped by more than a second, because living consumers must first get the
-- time to renew their leases. Otherwise returns {now_us, number of leases that ran out, number of jobs to bury, then
-- for each of these jobs: id, record; then topic, settings, ... of their topics}.

local lease_ms, recoverer
local LOSSES_MAX = 5
local HEAD = 3 -- number of replies before the first job
local replies, topics, is_told

-- Adds a job to the list for the caller. An id without a record is removed with its other data.
local function list(id, due)
  local record, topic = call('HGET', JOBS, id), topic_of(id)
  if not record then
    Places.take(id)
    Places.touch(topic, 'all')
    Attempts.forget_all(id)
    return
  end
  call('HSET', holders_of(topic), id, recoverer .. ' ' .. due)
  call('ZADD', LEASES, integer(now + lease_ms), id)
  Records.bytes_left = Records.bytes_left - #record
  replies[#replies + 1] = id
  replies[#replies + 1] = record
  if not is_told[topic] then
    is_told[topic] = true
    topics[#topics + 1] = topic
  end
end

local function give_back(id, losses, due)
  local at = losses > 1 and now + math.random(0, 2 ^ losses * lease_ms)
  Places.take(id)
  Places.touch(topic_of(id), 'all')
  Places.put_for_retry(id, due, at)
end

script('recover', {'allow-oom'}, {Attempts, Leases, Lingering, Places, Records}, function()
  lease_ms, recoverer = tonumber(ARGV[2]), ARGV[6]
  if math.abs(now - tonumber(ARGV[3])) > Leases.STEP_MS then return {now_us, -1} end
  math.randomseed(tonumber(ARGV[5]))
  local ids = Leases.lost(LEASES, lease_ms, ARGV[4])
  local lingering = has(LINGERING) and Leases.lost(LINGERING, lease_ms, ARGV[4]) or {}
  if #lingering == 0 and has(PULL_LINGERING) then lingering = Leases.lost(PULL_LINGERING, Leases.PULL_LEASE_MAX_MS, ARGV[4]) end
  replies, topics, is_told = {now_us, 0, 0}, {}, {}
  probe()
  for i = 1, #ids do
    local id = ids[i]
    if Records.has_read_enough() then break end
    replies[2] = i
    local claim = call('HGET', holders_of(topic_of(id)), id) or ('- ' .. integer(now))
    local nonce, due = string.match(claim, '^(%S+) (%S+)$')
    if not tonumber(due) then nonce, due = '-', integer(now) end -- the stored value is not one that duepost writes
    local losses = Attempts.losses(id)
    if not Attempts.is_recovering(nonce) then
      losses = losses + 1
      call('HSET', CRASHES, id, losses .. ' ' .. nonce)
    end
    if losses >= LOSSES_MAX then list(id, due) else give_back(id, losses, due) end
  end
  for i = 1, #lingering do
    Lingering.free(lingering[i])
    Places.touch(topic_of(lingering[i]))
  end
  Places.finish()
  replies[3] = (#replies - HEAD) / 2
  add_settings(replies, topics)
  return replies
end)
