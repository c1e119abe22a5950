-- unsend.lua - removes the jobs that were sent to a group and have not been delivered or cancelled, because
-- their owner requests it. Other jobs that have taken their ids stay.
--
-- ARGV from 2: topic/jobId, group, ...
-- Returns {now_us, result ...}. A result is NOT_FOUND, or {endpoint, code, endpoint, code, ...}: the endpoints to
-- which the job was sent, each with a code as in cancel.lua. If a code is AGAIN, send the item again.

-- Cancels the job of a send. Returns a code as in cancel.lua. If the job is dead, another job may have its id by now;
-- this job stays.
local function cancel_sent(id, sent_at)
  if not sent_at or Sends.is_of_send(id, sent_at) then return Cancels.cancel(id, '') end
  if not call('ZSCORE', DEAD, id) then return RESULT.NOT_FOUND end
  local _, _, _, record = Ended.read(id)
  return record and Sends.was_created(record, sent_at) and Cancels.cancel_dead(id) or RESULT.NOT_FOUND
end

local function unsend(id, wanted)
  local mark, group, endpoints, sent_at = Sends.read(id)
  if group ~= wanted then return RESULT.NOT_FOUND end
  local result, left = {}, {}
  for i = 1, #endpoints do
    local code = Records.has_read_enough() and RESULT.AGAIN or cancel_sent(Sends.job(id, endpoints[i]), sent_at)
    if code == RESULT.AGAIN then left[#left + 1] = endpoints[i] end
    result[#result + 1] = endpoints[i]
    result[#result + 1] = code
  end
  -- Stores which jobs of the send are left, so that the next call reads only these. Otherwise, jobs that have taken the
  -- ids of removed jobs could use up the limit of bytes in each call.
  if #left > 0 then Sends.note(id, mark, group, left, sent_at) else Sends.drop(id) end
  return result
end

script('unsend', {'allow-oom'}, {Cancels, Ended, Places, Records, Sends}, function()
  check(2, 2)
  local replies = {now_us}
  for i = 2, #ARGV, 2 do replies[#replies + 1] = unsend(ARGV[i], ARGV[i + 1]) end
  Ended.finish()
  Places.finish()
  return replies
end)
