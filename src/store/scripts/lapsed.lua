-- lapsed.lua - lists jobs that workers (clients that pull jobs) have leased, and whose leases ran out. Each such lease
-- counts as a failed attempt. The caller then ends each lease with its nonce. If the caller dies before that, the next
-- call lists the jobs again.
--
-- ARGV[2] maximum number of jobs   [3] time that Redis's clock should show by the caller's reckoning, ms
-- Returns {now_us, -1} if the clock has stepped by more than a second. Otherwise returns {now_us, number of leases that ran out,
-- number of jobs, then for each job: id, nonce, due time, time of the lease, record; then topic, settings, ... of their topics}.

local replies, topics, is_told

-- Called for a lease that the caller cannot end, because its nonce or the job's record is missing. Ends the lease. If
-- the job has a record, it is due now; otherwise its remaining data is removed.
local function repair(id, record)
  local topic = topic_of(id)
  Places.take(id)
  Places.touch(topic, 'all')
  if record then
    Places.put(id, now)
  else
    Attempts.forget_all(id)
  end
end

local function list(id, nonce, started, due, record)
  for _, word in ipairs({id, nonce, tonumber(due) or now, tonumber(started), record}) do replies[#replies + 1] = word end
  replies[3] = replies[3] + 1
  local topic = topic_of(id)
  if not is_told[topic] then topics[#topics + 1] = topic end
  is_told[topic] = true
end

script('lapsed', {'allow-oom'}, {Attempts, Leases, Places, Records}, function()
  if math.abs(now - tonumber(ARGV[3])) > Leases.STEP_MS then return {now_us, -1} end
  local ids = Leases.lost(PULLED, Leases.PULL_LEASE_MAX_MS, ARGV[2])
  replies, topics, is_told = {now_us, 0, 0}, {}, {}
  probe()
  for i = 1, #ids do
    local id = ids[i]
    if Records.has_read_enough() then break end
    replies[2] = i
    local claim, record = call('HGET', holders_of(topic_of(id)), id), call('HGET', JOBS, id)
    local nonce, started, due = string.match(claim or '', '^(p%S*) (%d+) %S+ (%S+)$')
    if nonce and record then
      Records.bytes_left = Records.bytes_left - #record
      list(id, nonce, started, due, record)
    else
      repair(id, record)
    end
  end
  Places.finish()
  add_settings(replies, topics)
  return replies
end)
