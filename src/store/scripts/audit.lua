#!lua flags=no-writes
-- audit.lua - counts, in a time that does not depend on how many jobs or topics there are. Each job's id is in exactly
-- one place, so the sums must come out.
--
-- ARGV[2] the most topics to look at for due jobs; beyond that, the result is that of the last whole survey
-- Returns {now_us, jobs, waiting, leased, dead, topics with waiting jobs, ready, histories, kept, kept with a time,
-- due time of the first job that is due or -1, age of that and of ready, ms, or -1 where nothing is known of them, 1 when
-- that takes a survey, held jobs, see held.lua}: ready is the part of waiting whose time has come, histories are those of jobs
-- with attempts, kept are jobs that have ended, of which the dead ones have no time. jobs = waiting + leased >=
-- histories and kept = dead + kept with a time when all is well.
-- uses: attempts held kept survey
local most = tonumber(ARGV[2])
local due, turns, behind = call('ZCOUNT', DUE, '-inf', now), call('ZCARD', TURNS), call('ZCARD', BEHIND)
local takes_survey, age = due + turns + behind > most, 0
if takes_survey then
  due_jobs, oldest_due, age = last_survey()
else
  survey_due(0, due)
  for _, key in ipairs({TURNS, BEHIND}) do
    for _, topic in ipairs(call('ZRANGE', key, 0, -1)) do survey(topic) end
  end
end
local held = call('ZRANGE', HELD, 0, 0, 'WITHSCORES')[2]
local first_held = held and ms_of(held)
if first_held and (oldest_due < 0 or first_held < oldest_due) then oldest_due = first_held end
return {
  now_us, call('HLEN', JOBS), tonumber(call('HGET', NUMBERS, 'waiting') or 0), call('ZCARD', LEASES), call('ZCARD', DEAD),
  call('ZCARD', DUE) + turns, due_jobs, call('HLEN', ATTEMPTS), call('HLEN', KEPT), call('ZCARD', KEPT_UNTIL),
  oldest_due, age, takes_survey and 1 or 0, tonumber(call('HGET', NUMBERS, 'held')) or 0,
}
