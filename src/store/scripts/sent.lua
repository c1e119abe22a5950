#!lua flags=no-writes
-- sent.lua - reads the states of the jobs that were sent to a group under one id.
--
-- ARGV[2] topic/jobId   [3] the group
-- Returns {now_us, endpoint, state, time, ...}, without endpoints if nothing was sent, or all jobs have ended some time
-- ago. The state 'ended' means that the job has ended and its data was removed. The time is when the job is due, when
-- its lease ends, or when it ended.
-- uses: clock sent
local _, group, endpoints, sent_at = send_of(ARGV[2])
if group ~= ARGV[3] then return {now_us} end
return add_states({now_us}, ARGV[2], endpoints, sent_at)
