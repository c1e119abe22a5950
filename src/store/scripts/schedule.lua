#!lua
-- schedule.lua - schedules new jobs. The flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs in the pool; 0: no limit   [3] time that an idempotency key is kept, ms
-- then for each job:
--   id
--   when    ms from now, or '@' and the due time
--   record  without '{"createdAt":<ms>,', which the script adds, because the time is Redis's
--   once    '-', or the request's fingerprint, a space, and its idempotency key: the first answer is kept
--           under this key and returned again
-- Returns {now_us, result ...}. A result is a due time, FULL or NO_URL. If a job has the id, the result is
-- {state, due, record} of this job, or AGAIN. If an earlier call has used the idempotency key, the result is
-- {'repeated', due, id} of that call's answer, or REUSED if it had other content.
-- uses: check existing idempotency places url when
check(4, 4, 2)
local max_jobs = tonumber(ARGV[2])
local room = max_jobs > 0 and max_jobs - call('HLEN', JOBS) or math.huge
local replies, scheduled = {now_us}, {}

local function add(id, when, record)
  if lacks_url(id, record) and call('HEXISTS', JOBS, id) == 0 then return RESULT_NO_URL end
  local at, created = due_of(when)
  if call('HSETNX', JOBS, id, opening_of(created) .. record) == 0 then
    return existing(id, scheduled[id])
  end
  room = room - 1
  scheduled[id] = put(id, at)
  return scheduled[id]
end

local function schedule(id, when, record, once)
  local answer = once ~= '-' and answered(once)
  if answer then return answer end
  if room < 1 and call('HEXISTS', JOBS, id) == 0 then return RESULT_FULL end
  local result = add(id, when, record)
  if once ~= '-' and type(result) == 'number' and result > 0 then keep_answer(once, id, result, tonumber(ARGV[3])) end
  return result
end

local topics, is_known = {}, {}
for i = 4, #ARGV, 4 do
  local topic = topic_of(ARGV[i])
  if not is_known[topic] then topics[#topics + 1] = topic end
  is_known[topic] = true
end
look_at_buckets(topics)
for i = 4, #ARGV, 4 do
  replies[#replies + 1] = schedule(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
finish()
return replies
