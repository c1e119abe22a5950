#!lua flags=no-writes
-- attempts.lua - what is known of the last attempts of a job.
--
-- ARGV[2] id
-- Returns {now_us, lines as in attempt_line.h}; {now_us}: no such job.
local id = ARGV[2]
if call('HEXISTS', JOBS, id) == 0 then return {now_us} end
return {now_us, call('HGET', ATTEMPTS, id) or ''}
