#!lua flags=no-writes
-- audit.lua - counts. Each job's id is in exactly one place, so the sum must come out.
--
-- Returns {now_us, jobs, waiting, leased, dead, topics, ready, histories, kept, kept with a time, 1 when there may be
-- something to sweep}: ready is the part of waiting whose time has come, histories are those of jobs with attempts,
-- kept are jobs that have ended. jobs = waiting + leased + dead >= histories when all is well.
-- uses: attempts kept offer
local waiting, ready = 0, 0
local function count_bucket(topic, may_be_ready)
  waiting = waiting + call('ZCARD', bucket_of(topic))
  if may_be_ready then ready = ready + call('ZCOUNT', bucket_of(topic), '-inf', now) end
end
local due = call('ZRANGE', DUE, 0, -1, 'WITHSCORES')
local may_be_held = call('EXISTS', RATES) == 1
for i = 1, #due, 2 do count_bucket(due[i], may_be_held or due[i + 1] == 'inf' or tonumber(due[i + 1]) <= now) end
local turns = call('ZRANGE', TURNS, 0, -1)
for i = 1, #turns do count_bucket(turns[i], true) end
local dead = call('ZCARD', DEAD)
local first = call('ZRANGE', KEPT_UNTIL, 0, 0, 'WITHSCORES')[2]
local is_to_sweep = first and tonumber(first) <= now or dead > 0 and has(TOPICS)
return {
  now_us, call('HLEN', JOBS), waiting, call('ZCARD', LEASES), dead, #due / 2 + #turns, ready, call('HLEN', ATTEMPTS),
  call('HLEN', KEPT), call('ZCARD', KEPT_UNTIL), is_to_sweep and 1 or 0,
}
