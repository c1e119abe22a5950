#!lua flags=allow-oom
-- complete.lua - removes delivered jobs from the pool.
--
-- ARGV from 2: id, nonce, the attempt's line if the topic had a retention or a history is on, or '', ...; then the follow-ups,
--      see follow.lua
-- The line of a worker's attempt is made here if it is empty and needed. Once it is given, the caller has read the job.
-- Returns {now_us, result ...}. A result is 1 (done), 0 (stale), AGAIN or NO_RECORD; of a worker's lease, the time when it began
-- instead of 1, or 2 if this worker has completed the job before.
-- uses: check fence follow hour keep late leases leave linger outbox pull revive
if has_follow_ups() then take_follow_ups(2, 3) end
check(2, 3)
local verdicts, claims = fence(2, 3)
local is_archived = has_history()
local may_keep = is_archived or has_settings()
local function is_to_be_kept(topic) return may_keep and (is_archived or keeps_ended(topic)) end
local replies = {now_us}
local gone, leased, pulled, by_topic = {}, {}, {}, {}

-- Notes the end of a worker's lease. Returns nothing, or a result if the job cannot end now.
local function note_pulled(id, nonce, may_have_callbacks, line)
  if line == '' and may_have_callbacks then return RESULT_NO_RECORD end
  note_completed(id, nonce)
  pulled[#pulled + 1] = id
end

local function complete(id, verdict, line, nonce, claim)
  local topic = topic_of(id)
  if not verdict then return is_pulled(nonce) and was_completed(id, nonce) and 2 or 0 end
  if is_to_be_kept(topic) and has_read_enough() then return RESULT_AGAIN end
  local its_worker, began, callbacks = verdict == 'lease' and is_pulled(nonce), nil, nil
  if its_worker then
    began, callbacks = string.match(claim, '^(%d+) (.)', #nonce + 2)
    local result = note_pulled(id, nonce, callbacks == '+', line)
    if result then return result end
    if line == '' and is_to_be_kept(topic) then line = line_of_completed(id, claim) end
  end
  if verdict == 'dead' then bring_back(id) end
  if may_keep then keep_job(id, 'delivered', line) end
  gone[#gone + 1] = id
  if verdict ~= 'lease' then
    take_late(id)
  else
    local ended = by_topic[topic]
    if not ended then
      ended = {}
      by_topic[topic] = ended
      touch(topic)
    end
    ended[#ended + 1] = id
    if not its_worker then leased[#leased + 1] = id end
  end
  return its_worker and tonumber(began) or 1
end

if is_archived then
  local ids = {}
  for i = 2, #ARGV, 3 do
    if verdicts[(i + 1) / 3] then ids[#ids + 1] = ARGV[i] end
  end
  read_ahead(ids)
end
for i = 2, #ARGV, 3 do
  local number = (i + 1) / 3
  replies[number + 1] = complete(ARGV[i], verdicts[number], ARGV[i + 2], ARGV[i + 1], claims[number])
  if follow_ups[number] and verdicts[number] and replies[number + 1] > 0 then follow(follow_ups[number], ARGV[i]) end
  if not verdicts[number] then end_lingering(ARGV[i], ARGV[i + 1]) end
end
for topic, ids in pairs(by_topic) do
  count(topic, 'd', #ids)
  call('HDEL', holders_of(topic), unpack(ids))
end
if #leased > 0 then call('ZREM', LEASES, unpack(leased)) end
if #pulled > 0 then
  call('ZREM', PULLED, unpack(pulled))
  write_completed()
end
if #gone > 0 then
  call('HDEL', JOBS, unpack(gone))
  if has(CRASHES) then call('HDEL', CRASHES, unpack(gone)) end
  if has(WORKFLOW_JOBS) then leave_all(gone) end
  forget_attempts(gone)
end
write_counts()
date_dead_topics()
finish()
return replies
