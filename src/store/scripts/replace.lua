-- replace.lua - schedules new jobs. If a job with the same id has not ended, the new job replaces it, and gets none of
-- its data. If an attempt of the old job is running, the old job is cancelled, see Lingering.make_way in
-- lib/lingering.lua. A dead job with this id stays, because a dead job and a new job may have the same id. The flag
-- allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit
-- then for each job:
--   id
--   when    as in schedule.lua
--   record  as in schedule.lua
--   tags    tags that the old job must match, see Tags.find; after a '!', tags that a job that has not ended must not
--           match; or '~<wait> <most> <key>' with debounce
-- With debounce, the job replaces the job that stands for its key (lib/idempotency.lua) if this one waits and no attempt
-- of it was made. It is due wait ms from now, but at most ms after the first job of the key.
-- Returns {now_us, result ...}. A result is {due time, createdAt, 2 if a job was replaced during an attempt, 1 if another
-- job was replaced, else 0, and with debounce the job's id}, FULL, AGAIN, NOT_AS_SEEN, NO_URL, EXPIRED, or that of
-- Quotas.refusal.

local max_jobs

-- Returns whether the job with this id, which has not ended, matches none of these tags; '*' matches any job. Returns
-- nothing if this call has read as many bytes as it may.
local function is_none_of(id, tags)
  if tags == '*' then return false end
  local record = Records.read(id)
  if record then return not string.find(tags, Tags.of(id, record), 1, true) end
end

local function replace(id, when, record, tags)
  if Records.has_read_enough() then return RESULT.AGAIN end
  local is_there = call('HEXISTS', JOBS, id) == 1
  local excluded = string.match(tags, '^!(.*)')
  if excluded then
    local is_other = not is_there or is_none_of(id, excluded)
    if is_other == nil then return RESULT.AGAIN end
    if not is_other then return RESULT.NOT_AS_SEEN end
    tags = ''
  end
  local seen = tags == '' and 'pool' or Tags.find(id, tags)
  if seen == nil then return RESULT.AGAIN end
  if not seen or is_there and seen == 'dead' then return RESULT.NOT_AS_SEEN end
  if Records.lacks_url(id, record) then return RESULT.NO_URL end
  local at, created = Records.due_of(when)
  if Records.would_expire(created, record, at) then return RESULT.EXPIRED end
  local was_leased = false
  if is_there and Ranks.key_in(Ranks.of(id)) ~= Ranks.key_in(Ranks.in_record(record) or Ranks.PLAIN) then
    local refused = Quotas.refusal_of_key(topic_of(id), 1, record)
    if refused then return refused end
    Quotas.take_of_key(topic_of(id), 1, record)
  end
  if is_there then
    was_leased = Lingering.make_way(id)
  elseif max_jobs > 0 and Expiries.jobs_below(max_jobs) >= max_jobs then
    return RESULT.FULL
  else
    local refused = Quotas.refusal(topic_of(id), 1, record)
    if refused then return refused end
    Quotas.take(topic_of(id), 1, record)
  end
  local text, expires = Records.complete(created, record)
  call('HSET', JOBS, id, text)
  Expiries.note(id, expires)
  Lanes.note_new(id, record)
  Stream.add(topic_of(id), id, 'accepted')
  at = Places.put_new(id, at) -- if the call has several new jobs with this id, the last one counts
  return {at, created, was_leased and 2 or is_there and 1 or 0}
end

-- The key is kept for some time more than the job should wait, and then as long as it does wait (forget.lua).
local KEPT_MS = 3600000

local debounced -- ids of jobs that this call has put in place with debounce; they are not in their buckets yet

local function debounce(id, record, wait, most, key)
  if Records.has_read_enough() then return RESULT.AGAIN end
  local first, standing = Idempotency.standing(key)
  local stands = standing and debounced[standing]
  if standing and not stands and call('ZSCORE', bucket_of(topic_of(standing)), standing) then
    stands = not Records.may_have(Records.read(standing), 'a')
  end
  Records.read_on()
  if not stands then first, standing = soonest, id end
  local result = replace(standing, '@' .. integer(math.min(soonest + wait, first + most)), record, '')
  if type(result) ~= 'table' or type(result[1]) ~= 'number' then return result end
  Idempotency.stand('debounce', key, first, standing, most + KEPT_MS)
  debounced[standing] = true
  result[4] = standing
  return result
end

script('replace', {}, {Ended, Expiries, Idempotency, Lanes, Lingering, Places, Quotas, Ranks, Records, Stream, Tags}, function()
  check(3, 4, 2)
  max_jobs, debounced = tonumber(ARGV[2]), {}
  Quotas.look(topics_checked())
  local replies = {now_us}
  for i = 3, #ARGV, 4 do
    local wait, most, key = string.match(ARGV[i + 3], '^~(%d+) (%d+) (.+)$')
    replies[#replies + 1] = key and debounce(ARGV[i], ARGV[i + 2], tonumber(wait), tonumber(most), key)
      or replace(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
  end
  Ended.finish()
  Places.finish()
  return replies
end)
