#!lua flags=allow-oom
-- run.lua - makes jobs due now, or at a given time. A dead job whose id is free comes back to the pool (the jobs that
-- have not ended). Its record is replaced by one without attempts, unless the record has changed since the caller
-- read it.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit; then for each job:
--   id
--   when   as in schedule.lua
--   tags   tags that the job must match, see find_seen
--   old    the record of the dead job that was read; empty at first
--   new    the record that replaces it
-- Returns {now_us, result ...}. A result is the due time, NOT_FOUND, AGAIN, LEASED, NOT_AS_SEEN, CHANGED,
-- TAKEN, FULL or EXPIRED. CHANGED means that the caller must read the job, which is dead.
-- uses: check crashes head line locate revive seen take when
check(3, 5, 2)
local max_jobs = tonumber(ARGV[2])

local function run_dead(id, when, old, new)
  if call('HEXISTS', JOBS, id) == 1 then return RESULT_TAKEN end
  if old == '' then return RESULT_CHANGED end
  if has_read_enough() then return RESULT_AGAIN end
  if select(4, kept_job(id)) ~= old then return RESULT_CHANGED end
  local at = due_of(when)
  if is_expired(new, at) then return RESULT_EXPIRED end
  if max_jobs > 0 and jobs_below(max_jobs) >= max_jobs then return RESULT_FULL end
  bring_back(id, new)
  return put_new(id, at)
end

local function run(id, when, tags, old, new)
  local seen = find_seen(id, tags)
  if seen == nil then return RESULT_AGAIN end
  if seen == 'dead' then return run_dead(id, when, old, new) end
  local state, score = locate(id)
  if state == 'leased' then return RESULT_LEASED end
  if not seen then return (state or call('HEXISTS', JOBS, id) == 1 or call('ZSCORE', DEAD, id)) and RESULT_NOT_AS_SEEN or RESULT_NOT_FOUND end
  if old ~= '' then return RESULT_TAKEN end
  if has(EXPIRIES) and call('ZSCORE', EXPIRIES, id) and is_expired(call('HGET', JOBS, id) or '') then return RESULT_EXPIRED end
  forget_crashes(id)
  if state == 'ready' then
    if has_settings() and is_fifo(topic_of(id)) then
      let_go(id)
      touch(topic_of(id))
    end
    return tonumber(score)
  end
  take(id)
  return put(id, (due_of(when)))
end

local replies = {now_us}
for i = 3, #ARGV, 5 do replies[#replies + 1] = run(unpack(ARGV, i, i + 4)) end
date_dead_topics()
finish()
return replies
