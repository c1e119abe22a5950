#!lua
-- fire.lua - fires schedules: schedules the job of an occurrence, and moves the schedule to its next time. Nothing
-- happens if the definition has changed or the time is not the expected one, so each occurrence is made once, by
-- whichever process calls first. The flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs in the pool; 0: no limit
-- then for each item:
--   id        of the schedule
--   tag       of its definition
--   expected  its time in fires, ms; or '-' for an occurrence that a client asks for and that changes nothing else
--   next      its next time, ms, or '-'
--   kind      'fire'; 'skip': the time makes no occurrence; 'hold': the time cannot be fired now
--   time      of the occurrence, ms
--   missed    1 if times were missed, else 0
--   overlap   1 if there is no occurrence while the last one is in the pool, else 0
--   job       id of the job, whose topic is that of the schedule or one of its siblings
--   when      of the job, as in schedule.lua
--   record    of the job, as in schedule.lua
-- Returns {now_us, result ...}. A result is the due time of the job; 1 for skip and hold; 0 if nothing happened; FULL:
-- nothing happened, but the schedule's entry says so; OVERLAP, TAKEN (another job has the id) or NO_URL: the time has
-- passed without a job.
-- uses: check places schedules url when
check(3, 11, 10)
-- Returns the topic of an id, up to the mark of sibling topics. Its shard is that of this name.
local function owner_of_id(id) return string.match(topic_of(id), '^[^~]*') end

for i = 3, #ARGV, 11 do
  for k = 2, 3 do
    if not string.match(ARGV[i + k], '^%d+$') and ARGV[i + k] ~= '-' then error('not a number') end
  end
  if not string.match(ARGV[i + 5], '^%d+$') then error('not a number') end
  if ARGV[i + 4] == 'fire' and owner_of_id(ARGV[i + 8]) ~= owner_of_id(ARGV[i]) then error('another topic') end
end
local max_jobs = tonumber(ARGV[2])
local room = max_jobs > 0 and max_jobs - call('HLEN', JOBS) or math.huge

local function is_expected(id, expected)
  local at = tonumber(call('ZSCORE', FIRES, id) or 'inf')
  return at == tonumber(expected) and at <= now
end

-- Schedules the job of an occurrence. Returns its due time and 'fire', or a result and a word that say
-- why no job was made.
local function make_job(id, when, record, previous)
  if previous and previous ~= '' and call('HEXISTS', JOBS, previous) == 1 then return RESULT_OVERLAP, 'overlap' end
  if call('HEXISTS', JOBS, id) == 1 then return RESULT_TAKEN, 'conflict' end
  if lacks_url(id, record) then return RESULT_NO_URL, 'noUrl' end
  if room < 1 then return RESULT_FULL, 'full' end
  local at, created = due_of(when)
  call('HSET', JOBS, id, opening_of(created) .. record)
  room = room - 1
  return put(id, at), 'fire'
end

local function fire(id, tag, expected, next_at, kind, time, missed, overlap, job, when, record)
  local its_tag, last = fired_of(id)
  if its_tag ~= tag then
    if not its_tag then call('ZREM', FIRES, id) end -- a time without a schedule
    return 0
  end
  if expected == '-' then return (make_job(job, when, record)) end
  if not is_expected(id, expected) then return 0 end
  local previous, result, outcome = string.match(last, '^%S+ %S+ %S+ %S+ (.*)$') or '', 1, kind
  if kind == 'fire' then result, outcome = make_job(job, when, record, overlap == '1' and previous) end
  local made = result > 1 and job or previous
  call('HSET', FIRED, id, table.concat({tag, outcome, missed, time, integer(now), made}, ' '))
  if result == RESULT_FULL then return result end
  if next_at == '-' then call('ZREM', FIRES, id) else call('ZADD', FIRES, next_at, id) end
  return result
end

local topics, is_known = {}, {}
for i = 3, #ARGV, 11 do
  if ARGV[i + 4] == 'fire' then
    local topic = topic_of(ARGV[i + 8])
    if not is_known[topic] then topics[#topics + 1] = topic end
    is_known[topic] = true
  end
end
look_at_buckets(topics)
local replies = {now_us}
for i = 3, #ARGV, 11 do replies[#replies + 1] = fire(unpack(ARGV, i, i + 10)) end
finish()
return replies
