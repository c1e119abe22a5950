-- cancel.lua - cancels jobs that have not ended, and removes dead jobs, because their owner requests it.
--
-- ARGV from 2: id, tags that the job must match (see Tags.find), ...
-- Returns {now_us, result ...}. A result is 1 if an attempt was running, 0 if no attempt was running,
-- NOT_FOUND, AGAIN or NOT_AS_SEEN. If other jobs were removed with the job's workflow, the result is {1 or 0, other job ...}, and
-- each other job is its 1 or 0, followed by its id.

local function cancel_item(id, tags)
  local result, others = Cancels.cancel(id, tags)
  if not others or #others == 0 then return result end
  local results = {result}
  for i = 1, #others do results[i + 1] = (WorkflowEnds.dropped[others[i]] == 'leased' and '1' or '0') .. others[i] end
  return results
end

script('cancel', {'allow-oom'}, {Cancels, Ended, Places, WorkflowEnds}, function()
  check(2, 2)
  local replies = {now_us}
  for i = 2, #ARGV, 2 do replies[#replies + 1] = cancel_item(ARGV[i], ARGV[i + 1]) end
  Ended.finish()
  Places.finish()
  return replies
end)
