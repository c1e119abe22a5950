#!lua
-- change.lua - changes members of jobs at their owner's request, unless the job has changed since the caller
-- read it. The flag allow-oom is not set, because records may grow.
--
-- ARGV from 2: id, its tag (see find_seen), when (as in schedule.lua) or '-' to keep the due time or '!' to bury the
-- job, record or empty to keep the record, ...; then the follow-ups of jobs that are buried, see follow.lua. A dead job
-- stays dead. If the new due time of a job without a new record is after its expiry, the result is NOT_AS_SEEN.
-- Returns {now_us, result ...}. A result is the due time, 0 if the due time is kept or the job is dead, AGAIN, LEASED,
-- NOT_AS_SEEN, NO_URL or EXPIRED.
-- uses: bury check crashes ended follow has head held hour leases leave line locate pause places seen take url when
if has_follow_ups() then take_follow_ups(2, 4) end
check(2, 4)
for i = 4, #ARGV, 4 do
  if ARGV[i] ~= '-' and ARGV[i] ~= '!' and not string.match(ARGV[i], '^@?-?%d+$') then error('not a number') end
  if (ARGV[i] == '-' or ARGV[i] == '!') and ARGV[i + 1] == '' then error('neither time nor record') end
end

local function change_dead(id, record)
  local _, at, _, _, lines = kept_job(id)
  keep(id, 'dead', at, 0, record, lines)
  return 0
end

local function bury_waiting(id, record, its_follow_ups)
  unput(id) -- an earlier item of this call may have moved the job
  take(id)
  bury(id, record, 0, '')
  if has_settings() and is_fifo(topic_of(id)) then pause_after(id) end
  if its_follow_ups then follow(its_follow_ups, id) end
  if has(WORKFLOW_JOBS) then fail_workflow_of(id) end
  return 0
end

-- Returns whether the job would expire before it is due, if the change moves one of these times: a job may already wait
-- for a retry that is due after its expiry.
local function is_too_late(id, when, record)
  local expires = expiry_of(record)
  if expires == math.huge then return false end
  if when ~= '-' and when ~= '!' then return expires <= (due_of(when)) end
  if expires == expiry_of(call('HGET', JOBS, id)) then return false end
  local _, score = locate(id)
  return score and expires <= math.floor(tonumber(score))
end

local function change(id, tag, when, record, its_follow_ups)
  local seen = find_seen(id, tag)
  if seen == nil then return RESULT_AGAIN end
  if seen ~= 'dead' and deadline_of(id) then return RESULT_LEASED end
  if not seen or seen == 'dead' and when ~= '-' then return RESULT_NOT_AS_SEEN end
  if record == '' then
    if is_expired(call('HGET', JOBS, id), (due_of(when))) then return RESULT_NOT_AS_SEEN end
    take(id) -- the job's tag changes, so a later item of this call with the old tag is refused
  else
    if lacks_url(id, record) then return RESULT_NO_URL end
    if seen == 'dead' then return change_dead(id, record) end
    if is_too_late(id, when, record) then return RESULT_EXPIRED end
    if when == '!' then return has_read_enough() and RESULT_AGAIN or bury_waiting(id, record, its_follow_ups) end
    call('HSET', JOBS, id, record)
    note_expiry_of(id, record)
  end
  forget_crashes(id)
  if when == '-' then
    -- A held job gets back the due time that it had before the hold, because the change may give the job another
    -- receiver.
    local due = held_dues(topic_of(id), {id})[1]
    if due then put_back(id, due) end
    if due and is_fifo(topic_of(id)) then let_go(id, due) end
    return 0
  end
  return put(id, (due_of(when)))
end

local replies = {now_us}
for i = 2, #ARGV, 4 do
  replies[#replies + 1] = change(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], follow_ups[(i + 2) / 4])
end
write_counts()
date_dead_topics()
finish()
return replies
