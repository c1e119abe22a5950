-- bury.lua - makes jobs dead.
-- uses: attempts crashes ended hour

-- Makes a job dead: it leaves the pool and is kept. The caller has already removed its id from the leases or from its
-- bucket.
local function bury(id, record, losses, line)
  keep(id, 'dead', now, losses, record, with_attempt(lines_of(id), line))
  call('HDEL', JOBS, id)
  forget_crashes(id)
  forget_attempts({id})
  count(topic_of(id), 'x', 1)
end
