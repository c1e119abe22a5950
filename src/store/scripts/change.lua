-- change.lua - changes members of jobs at their owner's request, unless the job has changed since the caller
-- read it. The flag allow-oom is not set, because records may grow.
--
-- ARGV from 2: id, its tag (see Tags.find), when (as in schedule.lua) or '-' to keep the due time or '!' to bury the
-- job, record or empty to keep the record, ...; then the follow-ups of jobs that are buried, see follow_ups.lua. A dead job
-- stays dead. If the new due time of a job without a new record is after its expiry, the result is NOT_AS_SEEN.
-- Returns {now_us, result ...}. A result is the due time, 0 if the due time is kept or the job is dead, AGAIN, LEASED,
-- NOT_AS_SEEN, NO_URL or EXPIRED.

local function change_dead(id, record)
  local _, at, _, _, lines = Ended.read(id)
  Ended.keep(id, 'dead', at, 0, record, lines)
  return 0
end

local function bury_waiting(id, record, its_follow_ups)
  WorkflowEnds.unput(id) -- an earlier item of this call may have moved the job
  Places.take(id)
  Ended.bury(id, record, 0, '')
  if has_settings() and is_fifo(topic_of(id)) then Fifo.pause_after(id) end
  if its_follow_ups then FollowUps.schedule(its_follow_ups, id) end
  if has(WORKFLOW_JOBS) then WorkflowEnds.fail(id) end
  return 0
end

-- Returns whether the job would expire before it is due, if the change moves one of these times: a job may already wait
-- for a retry that is due after its expiry.
local function is_too_late(id, when, record)
  local expires = Records.expiry(record)
  if expires == math.huge then return false end
  if when ~= '-' and when ~= '!' then return expires <= (Records.due_of(when)) end
  if expires == Records.expiry(call('HGET', JOBS, id)) then return false end
  local _, score = Leases.locate(id)
  return score and expires <= math.floor(tonumber(score))
end

local function change(id, tag, when, record, its_follow_ups)
  local seen = Tags.find(id, tag)
  if seen == nil then return RESULT.AGAIN end
  if seen ~= 'dead' and Leases.deadline(id) then return RESULT.LEASED end
  if not seen or seen == 'dead' and when ~= '-' then return RESULT.NOT_AS_SEEN end
  if record == '' then
    if Records.is_expired(call('HGET', JOBS, id), (Records.due_of(when))) then return RESULT.NOT_AS_SEEN end
    Places.take(id) -- the job's tag changes, so a later item of this call with the old tag is refused
  else
    if Records.lacks_url(id, record) then return RESULT.NO_URL end
    if seen == 'dead' then return change_dead(id, record) end
    if is_too_late(id, when, record) then return RESULT.EXPIRED end
    if when == '!' then return Records.has_read_enough() and RESULT.AGAIN or bury_waiting(id, record, its_follow_ups) end
    local old = has_lanes and call('HGET', JOBS, id)
    call('HSET', JOBS, id, record)
    Expiries.note_of(id, record)
    Lanes.note_changed(id, record, old)
    if Waited.is_used() then Waited.note_moved({'', id}) end
  end
  Attempts.forget_losses(id)
  if when == '-' then
    -- A held job gets back the due time that it had before the hold, because the change may give the job another
    -- receiver.
    local due = Holds.dues(topic_of(id), {id})[1]
    if due then Places.put_back(id, due) end
    if due and Fifo.line_of(id) then Fifo.let_go(id, due) end
    return 0
  end
  return Places.put(id, (Records.due_of(when)))
end

script('change', {}, {
  Attempts, Ended, Expiries, Fifo, FollowUps, Holds, Hours, Lanes, Leases, Places, Records, Tags, Waited, WorkflowEnds
}, function()
  if FollowUps.are_there() then FollowUps.take(2, 4) end
  check(2, 4)
  for i = 4, #ARGV, 4 do
    if ARGV[i] ~= '-' and ARGV[i] ~= '!' and not string.match(ARGV[i], '^@?-?%d+$') then error('not a number') end
    if (ARGV[i] == '-' or ARGV[i] == '!') and ARGV[i + 1] == '' then error('neither time nor record') end
  end
  local replies = {now_us}
  for i = 2, #ARGV, 4 do
    replies[#replies + 1] = change(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], FollowUps.by_item[(i + 2) / 4])
  end
  Hours.write()
  Ended.finish()
  Places.finish()
  return replies
end)
