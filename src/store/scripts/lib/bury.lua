-- bury.lua - makes jobs dead.
-- uses: attempts crashes ended hour

-- Makes a job dead: removes it from the pool (the jobs that have not ended) and stores it as a dead job. The caller has
-- already removed the job's id from the leases or from the waiting jobs of its topic.
local function bury(id, record, losses, line)
  keep(id, 'dead', now, losses, record, with_attempt(lines_of(id), line))
  call('HDEL', JOBS, id)
  forget_crashes(id)
  forget_attempts({id})
  count_failure(topic_of(id), 'x', line)
end
