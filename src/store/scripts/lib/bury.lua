-- bury.lua - gives a job up.
-- uses: attempts crashes ended hour

-- Gives up a job that is in no place any more: it leaves the pool and is kept.
local function bury(id, record, losses, line)
  keep(id, 'dead', now, losses, record, with_attempt(lines_of(id), line))
  call('HDEL', JOBS, id)
  forget_crashes(id)
  forget_attempts({id})
  count(topic_of(id), 'x', 1)
end
