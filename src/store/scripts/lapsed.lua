#!lua flags=allow-oom
-- lapsed.lua - lists jobs whose leases, held by workers, ran out. Each such lease counts as a failed attempt. The
-- caller then ends each lease with its nonce. If the caller dies before that, the next call lists the jobs again.
--
-- ARGV[2] maximum number of jobs   [3] time that the caller expects from Redis's clock, ms
-- Returns {now_us, -1} if the clock has stepped by more than a second. Otherwise returns {now_us, number of leases that ran out,
-- number of jobs, then for each job: id, nonce, due time, time of the lease, record; then topic, settings, ... of their topics}.
-- uses: attempts crashes lost places probe record settings take
if math.abs(now - tonumber(ARGV[3])) > STEP_MS then return {now_us, -1} end
local ids = lost_of(PULLED, PULL_LEASE_MAX_MS, ARGV[2])
local replies, topics, is_told = {now_us, 0, 0}, {}, {}

-- Ends a lease that has no holder, because without a nonce the caller cannot end it. Removes an id without a record
-- from its place.
local function repair(id, record)
  local topic = topic_of(id)
  take(id)
  touch(topic, 'all')
  if record then
    put(id, now)
  else
    forget_crashes(id)
    forget_attempts({id})
  end
end

local function list(id, nonce, started, due, record)
  for _, word in ipairs({id, nonce, tonumber(due) or now, tonumber(started), record}) do replies[#replies + 1] = word end
  replies[3] = replies[3] + 1
  local topic = topic_of(id)
  if not is_told[topic] then topics[#topics + 1] = topic end
  is_told[topic] = true
end

probe()
for i = 1, #ids do
  local id = ids[i]
  if has_read_enough() then break end
  replies[2] = i
  local claim, record = call('HGET', holders_of(topic_of(id)), id), call('HGET', JOBS, id)
  local nonce, started, due = string.match(claim or '', '^(p%S*) (%d+) %S+ (%S+)$')
  if nonce and record then
    record_bytes_left = record_bytes_left - #record
    list(id, nonce, started, due, record)
  else
    repair(id, record)
  end
end
finish()
add_settings(replies, topics)
return replies
