#!lua flags=allow-oom
-- unsend.lua - removes the jobs that were sent to a group and have not been delivered or cancelled, because
-- their owner requests it. Other jobs that have taken their ids stay.
--
-- ARGV from 2: topic/jobId, group, ...
-- Returns {now_us, result ...}. A result is NOT_FOUND, or {endpoint, code, endpoint, code, ...}: the endpoints to
-- which the job was sent, each with a code as in cancel.lua. If a code is AGAIN, send the item again.
-- uses: cancel check sends
check(2, 2)

-- Cancels the job of a send. Returns a code as in cancel.lua. If the job is dead, another job may have its id by now;
-- this job stays.
local function cancel_sent(id, sent_at)
  if not sent_at or is_of_send(id, sent_at) then return cancel(id, '') end
  if not call('ZSCORE', DEAD, id) then return RESULT_NOT_FOUND end
  local _, _, _, record = kept_job(id)
  return record and was_created(record, sent_at) and cancel_dead(id) or RESULT_NOT_FOUND
end

local function unsend(id, wanted)
  local mark, group, endpoints, sent_at = send_of(id)
  if group ~= wanted then return RESULT_NOT_FOUND end
  local result, left = {}, {}
  for i = 1, #endpoints do
    local code = has_read_enough() and RESULT_AGAIN or cancel_sent(job_of(id, endpoints[i]), sent_at)
    if code == RESULT_AGAIN then left[#left + 1] = endpoints[i] end
    result[#result + 1] = endpoints[i]
    result[#result + 1] = code
  end
  -- Stores which jobs of the send are left, so that the next call reads only these. Otherwise, jobs that have taken the
  -- ids of removed jobs could use up the limit of bytes in each call.
  if #left > 0 then note_send(id, mark, group, left, sent_at) else drop_send(id) end
  return result
end

local replies = {now_us}
for i = 2, #ARGV, 2 do replies[#replies + 1] = unsend(ARGV[i], ARGV[i + 1]) end
date_dead_topics()
finish()
return replies
