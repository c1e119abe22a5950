-- audit.lua - counts jobs. The time that the script takes does not grow with the number of jobs or topics. Each job's
-- id is either in the leases or among the waiting jobs of its topic, so the sums below must match.
--
-- ARGV[2] maximum number of topics to examine for due jobs. If more topics have waiting jobs, ready and the first
--      due time come from the last complete survey (survey.lua)
-- Returns {now_us, jobs, waiting, leased, dead, topics with waiting jobs, ready, histories, kept, kept with a time, due
-- time of the first due job or -1, age in ms of the survey that counted ready and this time (0: counted now; -1: no
-- survey yet), 1 if due jobs can be counted only by a survey, held jobs (see holds.lua), jobs leased by workers}. If
-- an outbox exists, or ever had texts, the following values are added: its texts, the ids in its lists, its bytes,
-- the texts dropped so far, the age of its oldest text in ms. ready is the number of waiting jobs whose time has
-- come. histories is the number of jobs with attempts. kept is the number of jobs that have ended and are kept. kept
-- with a time is the number of those with a time of removal: all but the dead jobs. In intact data, jobs = waiting +
-- leased >= histories, and kept = dead + kept with a time, and the lists of the outbox have all its texts.

local function outbox_age()
  local first = call('LRANGE', ENDED_READ, 0, 0)[1] or call('LRANGE', ENDED_IDS, 0, 0)[1]
  local at = first and string.match(call('HGET', ENDED, first) or '', '^%a+ (%d+) ')
  return at and math.max(now - tonumber(at), 0) or 0
end

script('audit', {'no-writes'}, {Survey}, function()
  local most = tonumber(ARGV[2])
  local due, turns, behind = call('ZCOUNT', DUE, '-inf', now), call('ZCARD', TURNS), call('ZCARD', BEHIND)
  local takes_survey, age = due + turns + behind > most, 0
  if takes_survey then
    Survey.due_jobs, Survey.oldest_due, age = Survey.last()
  else
    Survey.count_due(0, due)
    for _, key in ipairs({TURNS, BEHIND}) do
      for _, topic in ipairs(call('ZRANGE', key, 0, -1)) do Survey.count(topic) end
    end
  end
  local held = call('ZRANGE', HELD, 0, 0, 'WITHSCORES')[2]
  local first_held = held and ms_of(held)
  if first_held and (Survey.oldest_due < 0 or first_held < Survey.oldest_due) then Survey.oldest_due = first_held end
  local pulled = call('ZCARD', WORKERS.leases)
  local numbers = call('HMGET', NUMBERS, 'waiting', 'held', 'outbox_bytes', 'outbox_dropped')
  local replies = {
    now_us, call('HLEN', JOBS), tonumber(numbers[1] or 0), call('ZCARD', CONSUMERS.leases) + pulled, call('ZCARD', DEAD),
    call('ZCARD', DUE) + turns, Survey.due_jobs, call('HLEN', ATTEMPTS), call('HLEN', KEPT), call('ZCARD', KEPT_UNTIL),
    Survey.oldest_due, age, takes_survey and 1 or 0, tonumber(numbers[2]) or 0, pulled,
  }
  if numbers[3] or numbers[4] or call('EXISTS', ENDED) == 1 then
    replies[16], replies[17] = call('HLEN', ENDED), call('LLEN', ENDED_IDS) + call('LLEN', ENDED_READ)
    replies[18], replies[19], replies[20] = tonumber(numbers[3]) or 0, tonumber(numbers[4]) or 0, outbox_age()
  end
  return replies
end)
