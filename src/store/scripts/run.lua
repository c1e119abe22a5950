-- run.lua - makes jobs due now, or at a given time. A dead job whose id is free comes back to the pool (the jobs that
-- have not ended). Its record is replaced by one without attempts, unless the record has changed since the caller
-- read it.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit; then for each job:
--   id
--   when   as in schedule.lua
--   tags   tags that the job must match, see Tags.find
--   old    the record of the dead job that was read; empty at first
--   new    the record that replaces it
-- Returns {now_us, result ...}. A result is the due time, NOT_FOUND, AGAIN, LEASED, NOT_AS_SEEN, CHANGED,
-- TAKEN, FULL, EXPIRED, or that of Quotas.refusal. CHANGED means that the caller must read the job, which is dead.

local max_jobs

local function run_dead(id, when, old, new)
  if call('HEXISTS', JOBS, id) == 1 then return RESULT.TAKEN end
  if old == '' then return RESULT.CHANGED end
  if Records.has_read_enough() then return RESULT.AGAIN end
  if select(4, Ended.read(id)) ~= old then return RESULT.CHANGED end
  local at = Records.due_of(when)
  if Records.is_expired(new, at) then return RESULT.EXPIRED end
  if max_jobs > 0 and Expiries.jobs_below(max_jobs) >= max_jobs then return RESULT.FULL end
  local refused = Quotas.refusal(topic_of(id), 1, new)
  if refused then return refused end
  Quotas.take(topic_of(id), 1, new)
  Ended.bring_back(id, new)
  return Places.put_new(id, at)
end

local function run(id, when, tags, old, new)
  local seen = Tags.find(id, tags)
  if seen == nil then return RESULT.AGAIN end
  if seen == 'dead' then return run_dead(id, when, old, new) end
  local state, score = Leases.locate(id)
  if state == 'leased' then return RESULT.LEASED end
  if not seen then return (state or call('HEXISTS', JOBS, id) == 1 or call('ZSCORE', DEAD, id)) and RESULT.NOT_AS_SEEN or RESULT.NOT_FOUND end
  if old ~= '' then return RESULT.TAKEN end
  if has(EXPIRIES) and call('ZSCORE', EXPIRIES, id) and Records.is_expired(call('HGET', JOBS, id) or '') then return RESULT.EXPIRED end
  Attempts.forget_losses(id)
  if state == 'ready' then
    if Fifo.line_of(id) then
      Fifo.let_go(id)
      Places.touch(topic_of(id))
    end
    return tonumber(score)
  end
  Places.take(id)
  return Places.put(id, (Records.due_of(when)))
end

script('run', {'allow-oom'}, {Attempts, Ended, Expiries, Fifo, Leases, Places, Quotas, Records, Tags}, function()
  check(3, 5, 2)
  max_jobs = tonumber(ARGV[2])
  Quotas.look(topics_checked())
  local replies = {now_us}
  for i = 3, #ARGV, 5 do replies[#replies + 1] = run(unpack(ARGV, i, i + 4)) end
  Ended.finish()
  Places.finish()
  return replies
end)
