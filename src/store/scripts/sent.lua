-- sent.lua - reads the states of the jobs that were sent to a group under one id.
--
-- ARGV[2] topic/jobId   [3] the group
-- Returns {now_us, endpoint, state, time, ...}, without endpoints if nothing was sent, or all jobs have ended some time
-- ago. The state 'ended' means that the job has ended and its data was removed. The time is when the job is due, when
-- its lease ends, or when it ended.

script('sent', {'no-writes'}, {Sends}, function()
  local _, group, endpoints, sent_at = Sends.read(ARGV[2])
  if group ~= ARGV[3] then return {now_us} end
  return Sends.add_states({now_us}, ARGV[2], endpoints, sent_at)
end)
