#!lua flags=allow-oom
-- cancel.lua - cancels jobs that have not ended, and removes dead jobs, because their owner requests it.
--
-- ARGV from 2: id, tags that the job must match (see find_seen), ...
-- Returns {now_us, result ...}. A result is 1 if an attempt was running, 0 if no attempt was running,
-- NOT_FOUND, AGAIN or NOT_AS_SEEN. If other jobs were removed with the job's workflow, the result is {1 or 0, other job ...}, and
-- each other job is its 1 or 0, followed by its id.
-- uses: cancel check
-- plain: take
check(2, 2)

local function cancel_item(id, tags)
  local result, others = cancel(id, tags)
  if not others or #others == 0 then return result end
  local results = {result}
  for i = 1, #others do results[i + 1] = (dropped[others[i]] == 'leased' and '1' or '0') .. others[i] end
  return results
end

local replies = {now_us}
for i = 2, #ARGV, 2 do replies[#replies + 1] = cancel_item(ARGV[i], ARGV[i + 1]) end
date_dead_topics()
finish()
return replies
