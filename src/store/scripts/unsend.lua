#!lua flags=allow-oom
-- unsend.lua - removes the jobs that were sent to a group and have not been delivered or cancelled, because
-- their owner requests it.
--
-- ARGV from 2: topic/jobId, group, ...
-- Returns {now_us, result ...}. A result is NOT_FOUND, or {endpoint, code, endpoint, code, ...}: the endpoints to
-- which the job was sent, each with a code as in cancel.lua. If a code is AGAIN, send the item again.
-- uses: cancel check sends
check(2, 2)

local function unsend(id, wanted)
  local _, group, endpoints = send_of(id)
  if group ~= wanted then return RESULT_NOT_FOUND end
  local result, is_whole = {}, true
  for i = 1, #endpoints do
    local code = cancel(job_of(id, endpoints[i]), '')
    is_whole = is_whole and code ~= RESULT_AGAIN
    result[#result + 1] = endpoints[i]
    result[#result + 1] = code
  end
  if is_whole then drop_send(id) end
  return result
end

local replies = {now_us}
for i = 2, #ARGV, 2 do replies[#replies + 1] = unsend(ARGV[i], ARGV[i + 1]) end
date_dead_topics()
finish()
return replies
