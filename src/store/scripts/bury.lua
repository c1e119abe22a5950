-- bury.lua - makes jobs dead: removes them from the pool (the jobs that have not ended) and keeps their data. If the
-- topic is fifo, the script may pause it, see fifo.lua.
--
-- ARGV from 2: id, nonce, record, the attempt's line or '', ...; then the follow-ups, see follow_ups.lua
-- Returns {now_us, result ...}. A result is 1 (done), 0 (stale), REPLACED or AGAIN.

-- If recovery buries the job because it has lost too many consumers, returns their number and the nonce of the last
-- one. The nonce is kept with the job, because the outcome of this consumer's attempt may still arrive, see
-- died_with. Returns 0 if a job is buried for another reason.
local function losses_to_keep(id, nonce)
  local crash = Attempts.is_recovering(nonce) and call('HGET', CRASHES, id)
  return crash and string.gsub(crash, ' ', '/') or 0
end

-- Returns whether a job that waits has expired, and its record is still the one for which expire.lua has made the
-- nonce.
local function has_expired(id, nonce)
  if string.byte(nonce) ~= 61 or Leases.deadline(id) then return false end
  local record = call('HGET', JOBS, id)
  return record and Expiries.nonce(record) == nonce and Records.is_expired(record)
end

-- Returns whether this waiting job is the first one of its fifo topic. If another job expires, no job waited for it, so
-- its death does not pause the topic.
local function is_first(id)
  local topic = topic_of(id)
  return call('HLEN', holders_of(topic)) == 0 and call('ZRANGE', bucket_of(topic), '0', '0')[1] == id
end

script('bury', {'allow-oom'}, {
  Attempts, Ended, Expiries, Fence, Fifo, FollowUps, Hours, Leases, Lingering, Places, Records, WorkflowEnds
}, function()
  if FollowUps.are_there() then FollowUps.take(2, 4) end
  check_ends(2, 4)
  local verdicts = Fence.verdicts(2, 4)
  local replies = {now_us}
  for i = 2, #ARGV, 4 do
    local number, id = (i + 2) / 4, ARGV[i]
    local may_end = (verdicts[number] or has_expired(id, ARGV[i + 1])) and not WorkflowEnds.dropped[id]
    replies[number + 1] = may_end and 1 or 0
    if may_end and Records.has_read_enough() then
      replies[number + 1] = RESULT.AGAIN
    elseif may_end then
      if verdicts[number] == 'dead' then Ended.bring_back(id) end
      local may_pause = has_settings() and is_fifo(topic_of(id)) and (verdicts[number] or is_first(id))
      Places.take(id)
      Ended.bury(id, ARGV[i + 2], losses_to_keep(id, ARGV[i + 1]), ARGV[i + 3])
      if may_pause then Fifo.pause_after(id) end
      if FollowUps.by_item[number] then FollowUps.schedule(FollowUps.by_item[number], id) end
      if has(WORKFLOW_JOBS) then WorkflowEnds.fail(id) end
    else
      replies[number + 1] = Lingering.finish(id, ARGV[i + 1])
    end
  end
  Hours.write()
  Ended.finish()
  Places.finish()
  return replies
end)
