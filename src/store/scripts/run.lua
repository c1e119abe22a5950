#!lua flags=allow-oom
-- run.lua - a job becomes due now, or when it is told. A dead one whose id is free comes back into the pool and starts over:
-- its record is swapped for one without attempts, unless it has changed since the caller read it.
--
-- ARGV[2]  the most jobs in the pool, 0: no bound; then for each job:
--   id
--   when   as in schedule.lua
--   tags   what has to be there, see find_seen
--   old    the record of the dead job that was read; empty at first
--   new    the record to write for it
-- Returns {now_us, result ...}: the due time, -1 no such job, -2 this call has read enough: ask again, -3 leased, -4 not as
-- seen, -5 dead, and its record is not old, -6 the dead one is meant and a job of the pool has its id, -7 the pool is full.
-- uses: check crashes locate revive seen take when
check(3, 5, 2)
local max_jobs = tonumber(ARGV[2])

local function run_dead(id, when, old, new)
  if call('HEXISTS', JOBS, id) == 1 then return -6 end
  if old == '' then return -5 end
  if has_read_enough() then return -2 end
  if select(4, kept_job(id)) ~= old then return -5 end
  if max_jobs > 0 and call('HLEN', JOBS) >= max_jobs then return -7 end
  bring_back(id, new)
  return put(id, (due_of(when)))
end

local function run(id, when, tags, old, new)
  local seen = find_seen(id, tags)
  if seen == nil then return -2 end
  if seen == 'dead' then return run_dead(id, when, old, new) end
  local state, score = locate(id)
  if state == 'leased' then return -3 end
  if not seen then return (state or call('HEXISTS', JOBS, id) == 1 or call('ZSCORE', DEAD, id)) and -4 or -1 end
  if old ~= '' then return -6 end
  forget_crashes(id)
  if state == 'ready' then return tonumber(score) end
  take(id)
  return put(id, (due_of(when)))
end

local replies = {now_us}
for i = 3, #ARGV, 5 do replies[#replies + 1] = run(unpack(ARGV, i, i + 4)) end
date_dead_topics()
finish()
return replies
