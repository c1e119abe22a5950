#!lua
-- replace.lua - schedules new jobs. If a job with the same id has not ended, the new job replaces it, and gets none of
-- its data. If an attempt of the old job is running, the old job is cancelled, see make_way in lib/linger.lua. A dead job
-- with this id stays, because a dead job and a new job may have the same id. The flag allow-oom is not set, so a full
-- Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit
-- then for each job:
--   id
--   when    as in schedule.lua
--   record  as in schedule.lua
--   tags    tags that the old job must match, see find_seen; after a '!', tags that a job that has not ended must not
--           match
-- Returns {now_us, result ...}. A result is {due time, createdAt, 2 if a job was replaced during an attempt, 1 if another
-- job was replaced, else 0}, FULL, AGAIN, NOT_AS_SEEN, NO_URL or EXPIRED.
-- uses: check ended linger outbox seen places url when
-- plain: take
check(3, 4, 2)
local max_jobs = tonumber(ARGV[2])

-- Returns whether the job with this id, which has not ended, matches none of these tags; '*' matches any job. Returns
-- nothing if this call has read as many bytes as it may.
local function is_none_of(id, tags)
  if tags == '*' then return false end
  local record = answer_record(id)
  if record then return not string.find(tags, tag_of(id, record), 1, true) end
end

local function replace(id, when, record, tags)
  if has_read_enough() then return RESULT_AGAIN end
  local is_there = call('HEXISTS', JOBS, id) == 1
  local excluded = string.match(tags, '^!(.*)')
  if excluded then
    local is_other = not is_there or is_none_of(id, excluded)
    if is_other == nil then return RESULT_AGAIN end
    if not is_other then return RESULT_NOT_AS_SEEN end
    tags = ''
  end
  local seen = tags == '' and 'pool' or find_seen(id, tags)
  if seen == nil then return RESULT_AGAIN end
  if not seen or is_there and seen == 'dead' then return RESULT_NOT_AS_SEEN end
  if lacks_url(id, record) then return RESULT_NO_URL end
  local at, created = due_of(when)
  if is_over(created, record, at) then return RESULT_EXPIRED end
  local was_leased = false
  if is_there then
    was_leased = make_way(id)
  elseif max_jobs > 0 and jobs_below(max_jobs) >= max_jobs then
    return RESULT_FULL
  end
  local text, expires = record_of(created, record)
  call('HSET', JOBS, id, text)
  note_expiry(id, expires)
  at = put_new(id, at) -- if the call has several new jobs with this id, the last one counts
  return {at, created, was_leased and 2 or is_there and 1 or 0}
end

local replies = {now_us}
for i = 3, #ARGV, 4 do
  replies[#replies + 1] = replace(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
date_dead_topics()
finish()
return replies
