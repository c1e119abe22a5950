#!lua flags=allow-oom
-- complete.lua - removes delivered jobs from the pool.
--
-- ARGV from 2: id, nonce, the attempt's line if the topic had a retention or a history is on, or '', ...; then the follow-ups,
--      see follow.lua
-- If the line of a worker's attempt is empty and needed, this script writes it. A line in the arguments means
-- that the caller has read the job.
-- Returns {now_us, result ...}. A result is 1 (done), 0 (stale), AGAIN or NO_RECORD; for a worker's lease,
-- the time when the lease began instead of 1, or 2 if this worker has already completed the job.
-- uses: check fence follow hour keep late leases leave linger outbox pull revive
if has_follow_ups() then take_follow_ups(2, 3) end
check(2, 3)
local verdicts, claims = fence(2, 3)
local is_archived = has_history()
local may_keep = is_archived or has_settings()
local keeps = {} -- by topic
local function is_to_be_kept(topic)
  local is_kept = keeps[topic]
  if is_kept == nil then
    is_kept = is_archived or keeps_ended(topic)
    keeps[topic] = is_kept
  end
  return is_kept
end
local replies = {now_us}
local gone, leased, by_topic = {}, {}, {}
local pulled, pulled_by = {}, {} -- ids, and the nonces of their leases

local function complete(id, verdict, line, nonce, claim)
  local topic = topic_of(id)
  if not verdict then return is_pulled(nonce) and was_completed(id, nonce, pulled, pulled_by) and 2 or 0 end
  local is_kept = may_keep and is_to_be_kept(topic)
  if is_kept and has_read_enough() then return RESULT_AGAIN end
  local its_worker, began, callbacks = verdict == 'lease' and is_pulled(nonce), nil, nil
  if its_worker then
    began, callbacks = string.match(claim, '^(%d+) (.)', #nonce + 2)
    if line == '' and callbacks == '+' then return RESULT_NO_RECORD end
    pulled[#pulled + 1], pulled_by[#pulled + 1] = id, nonce
    if line == '' and is_kept then line = line_of_completed(id, claim) end
  end
  if verdict == 'dead' then bring_back(id) end
  if is_kept then keep_job(id, 'delivered', line) end
  gone[#gone + 1] = id
  if verdict ~= 'lease' then
    take_late(id)
  else
    local ended = by_topic[topic]
    if not ended then
      ended = {}
      by_topic[topic] = ended
      touch_freed(topic)
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
  note_completed(pulled, pulled_by)
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
