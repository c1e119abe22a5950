-- forget.lua - one step of limited size that removes idempotency keys whose window is over, unless they are those of a
-- debounce whose job has not ended, the entries of sends whose jobs have ended, the names of pull topics for whose jobs
-- no worker waits any more (turns.lua), and those of jobs for whose end no request waits (waited.lua). Redis's own
-- expiry (EXPIRE) is used for none of them. After a step of the clock, removes nothing for some time
-- (lib/clock_steps.lua).
--
-- ARGV[2] maximum number of keys, and of topics   [3] maximum number of sends
-- Returns {now_us, number of keys examined, number of sends examined}.

local HOUR_MS = 3600000

-- Returns whether a job of the send may still exist. If this call has read as many bytes as it may, returns true
-- without reading more.
local function may_be_left(id)
  local _, _, endpoints, sent_at = Sends.read(id)
  for i = 1, endpoints and #endpoints or 0 do
    if Records.has_read_enough() or Sends.is_of_send(Sends.job(id, endpoints[i]), sent_at) then return true end
  end
end

script('forget', {'allow-oom'}, {ClockSteps, Idempotency, Records, Sends, Waited}, function()
  probe()
  if ClockSteps.removals_rest() then return {now_us, 0, 0} end
  local keys = call('ZRANGEBYSCORE', WINDOWS, '-inf', now, 'LIMIT', 0, ARGV[2])
  local void = {}
  for i = 1, #keys do
    if Idempotency.is_awaited(keys[i]) then
      call('ZADD', WINDOWS, integer(now + HOUR_MS), keys[i])
    else
      void[#void + 1] = keys[i]
    end
  end
  if #void > 0 then
    call('HDEL', IDEMPOTENCY, unpack(void))
    call('ZREM', WINDOWS, unpack(void))
  end
  local topics = has(PULL_WAITERS) and call('ZRANGEBYSCORE', PULL_WAITERS, '-inf', clock.lease_now, 'LIMIT', 0, ARGV[2]) or {}
  if #topics > 0 then call('ZREM', PULL_WAITERS, unpack(topics)) end
  Waited.forget(ARGV[2])
  local ids = call('ZRANGEBYSCORE', SENDS_UNTIL, '-inf', now, 'LIMIT', 0, ARGV[3])
  for i = 1, #ids do
    if may_be_left(ids[i]) then
      call('ZADD', SENDS_UNTIL, integer(now + HOUR_MS), ids[i])
    else
      Sends.drop(ids[i])
    end
  end
  return {now_us, #keys, #ids}
end)
