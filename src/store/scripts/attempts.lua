-- attempts.lua - returns the last attempts of a job that has not ended, or that has ended and is kept or in the
-- outbox.
--
-- ARGV[2] id
-- Returns {now_us, lines as in attempt_line.h}, or {now_us} if there is no such job.

script('attempts', {'no-writes'}, {Ended}, function()
  local id = ARGV[2]
  if call('HEXISTS', JOBS, id) == 1 then return {now_us, call('HGET', ATTEMPTS, id) or ''} end
  local state, _, _, _, lines = Ended.read(id, ENDED, call('HGET', ENDED_LAST, id) or id)
  return state and {now_us, lines} or {now_us}
end)
