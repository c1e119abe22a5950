-- complete.lua - ends delivered jobs: removes them from the pool (the jobs that have not ended).
--
-- ARGV from 2: id, nonce, the attempt's line if the topic had a retention or a history is on, or '', perhaps with a newline and the
--      job's result, as JSON, behind it, ...; then the follow-ups, see follow_ups.lua
-- A line describes an attempt (attempt_line.h). If the line of a worker's attempt is needed and empty, this script
-- writes it. If it is not empty, the caller has read the job's record; '-': there is no line.
-- Returns {now_us, result ...}. A result is 1 (done), 0 (stale), REPLACED, AGAIN, NO_RECORD or NO_LINE; for a worker's lease,
-- the time when the lease began instead of 1, or 2 if this worker has already completed the job.

local replies
local is_awaited -- ids of this call for whose end requests wait (lib/waited.lua), or nothing
local leased, others -- jobs that end and are not plain (see below): leased by consumers, and all others
local pulled, pulled_by -- jobs leased by workers: ids, and the nonces of their leases

-- Returns the jobs of a topic whose leases this call ends.
local by_topic
local function ended_of(topic)
  local ended = by_topic[topic]
  if not ended then
    ended = {}
    by_topic[topic] = ended
    Places.touch_freed(topic)
  end
  return ended
end

local function complete(id, verdict, line, nonce, holder, claim, is_kept)
  local topic = topic_of(id)
  if not verdict then return holder == WORKERS and Pull.was_completed(id, nonce, pulled, pulled_by) and 2 or 0 end
  if is_kept and Records.has_read_enough() then return RESULT.AGAIN end
  local cut, result = string.find(line, '\n', 1, true), nil
  if cut then line, result = string.sub(line, 1, cut - 1), string.sub(line, cut + 1) end
  if line == '' and holder == CONSUMERS and is_awaited and is_awaited[id] then return RESULT.NO_LINE end
  if line == '-' then line = '' end
  local its_worker, began, callbacks = verdict == 'lease' and holder == WORKERS, nil, nil
  if its_worker then
    local _
    _, _, began, callbacks = Leases.read_claim(claim)
    if line == '' and callbacks == '+' then return RESULT.NO_RECORD end
    pulled[#pulled + 1], pulled_by[#pulled + 1] = id, nonce
    if line == '' and (is_kept or Stream.is_on(topic)) then line = Pull.line_of_completed(id, began) end
  end
  if verdict == 'dead' then Ended.bring_back(id) end
  if is_kept then Ended.keep_job(id, 'delivered', line, nil, result) end
  Stream.add_end(topic, id, 'delivered', line)
  local list = (verdict ~= 'lease' or its_worker) and others or leased
  list[#list + 1] = id
  if verdict == 'lease' then
    local ended = ended_of(topic)
    ended[#ended + 1] = id
  else
    Fence.take_late(id)
  end
  return its_worker and tonumber(began) or 1
end

-- Puts the plain jobs into the outbox together. Most jobs are plain: a consumer has leased them, and their topic has no
-- retention. Jobs beyond the bytes that this call may read are not ended; their result is AGAIN.
local plain, plain_lines, plain_numbers
local function archive_plain()
  for i = #plain, Outbox.add_delivered(plain, plain_lines) + 1, -1 do
    local ended = by_topic[topic_of(plain[i])]
    for k = #ended, 1, -1 do
      if ended[k] == plain[i] then table.remove(ended, k) end
    end
    replies[plain_numbers[i] + 1] = RESULT.AGAIN
    plain[i] = nil
  end
end

script('complete', {'allow-oom'}, {
  Attempts, Ended, Expected, Fence, FollowUps, Hours, Lanes, Leases, Lingering, Outbox, Places, Pull, Records, Stream, Waited, WorkflowEnds
}, function()
  if FollowUps.are_there() then FollowUps.take(2, 3) end
  check_ends(2, 3)
  local verdicts, claims = Fence.verdicts(2, 3)
  replies = {now_us}
  leased, others = {}, {}
  pulled, pulled_by = {}, {}
  by_topic = {}
  local is_archived = has_history()
  is_awaited = nil
  if Waited.is_used() then
    local ids = {}
    for i = 2, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
    is_awaited = Waited.among(ids)
  end
  plain = {}
  plain_lines = {}
  plain_numbers = {}
  local number, topic, is_kept, is_streamed, ended = 0, nil, false, false, nil
  local nonce, holder -- most items of a call have the same nonce
  for i = 2, #ARGV, 3 do
    local id = ARGV[i]
    number = number + 1
    if ARGV[i + 1] ~= nonce then
      nonce = ARGV[i + 1]
      holder = Leases.holder(nonce)
    end
    if topics_of[id] ~= topic then
      topic = topics_of[id]
      is_kept, is_streamed, ended = has_settings() and Ended.keeps_all(topic), Stream.is_on(topic), nil
    end
    local is_watched = is_kept or is_awaited and is_awaited[id]
    local is_plain = not is_watched and not is_streamed and verdicts[number] == 'lease' and holder == CONSUMERS
    if is_plain and not string.find(ARGV[i + 2], '\n', 1, true) then
      local at = #plain + 1
      plain[at], plain_lines[at], plain_numbers[at] = id, ARGV[i + 2], number
      ended = ended or ended_of(topic)
      ended[#ended + 1] = id
      replies[number + 1] = 1
    else
      replies[number + 1] = complete(id, verdicts[number], ARGV[i + 2], nonce, holder, claims[number], is_watched or is_archived)
      if replies[number + 1] == 0 then replies[number + 1] = Lingering.finish(id, nonce) end
    end
  end
  if is_archived and #plain > 0 then archive_plain() end
  for item = 1, next(FollowUps.by_item) and number or 0 do
    if FollowUps.by_item[item] and verdicts[item] and replies[item + 1] > 0 then FollowUps.schedule(FollowUps.by_item[item], ARGV[3 * item - 1]) end
  end
  for its_topic, ids in pairs(by_topic) do
    if #ids > 0 then
      Hours.count(its_topic, 'd', #ids)
      call('HDEL', holders_of(its_topic), unpack(ids))
      if has_lanes then Lanes.end_attempts(its_topic, ids) end
    end
  end
  local gone = plain -- becomes the list of all jobs that end
  for i = 1, #leased do gone[#gone + 1] = leased[i] end
  if #gone > 0 then call('ZREM', CONSUMERS.leases, unpack(gone)) end
  if #pulled > 0 then
    call('ZREM', WORKERS.leases, unpack(pulled))
    Pull.note_completed(pulled, pulled_by)
  end
  for i = 1, #others do gone[#gone + 1] = others[i] end
  if #gone > 0 then
    call('HDEL', JOBS, unpack(gone))
    if has(CRASHES) then call('HDEL', CRASHES, unpack(gone)) end
    if has(WORKFLOW_JOBS) then WorkflowEnds.leave_all(gone) end
    if Expected.is_used() then Expected.note_delivered(gone) end
    Attempts.forget(gone)
  end
  Hours.write()
  Ended.finish()
  Places.finish()
  return replies
end)
