#!lua flags=allow-oom
-- cancel.lua - cancels jobs that have not ended, and removes dead jobs, because their owner requests it.
--
-- ARGV from 2: id, tags that the job must match (see find_seen), ...
-- Returns {now_us, result ...}. A result is 1 if an attempt was running, 0 if no attempt was running,
-- NOT_FOUND, AGAIN or NOT_AS_SEEN.
-- uses: cancel check
-- plain: take
check(2, 2)

local replies = {now_us}
for i = 2, #ARGV, 2 do replies[#replies + 1] = cancel(ARGV[i], ARGV[i + 1]) end
date_dead_topics()
finish()
return replies
