#!lua
-- schedule.lua - new jobs. No allow-oom: a full Redis refuses new work.
--
-- ARGV[2]  the most jobs in the pool, 0: no bound
-- then for each job:
--   id
--   when    ms from now, or '@' and the due time
--   record  without '{"createdAt":<ms>,', which is put in front here: the time is Redis's
-- Returns {now_us, result ...}: a due time, -1 when the pool is full, {state, due, record} of the job
-- that has the id, or -2 when there is one but the answer has become too long: ask again.
check(3, 3, 2)
local max_jobs = tonumber(ARGV[2])
local replies, scheduled = {now_us}, {}

-- A job that has the id. One of this very batch is in no bucket yet; one that is nowhere, the janitor
-- will make ready.
local function existing(id)
  local record = answer_record(id)
  if not record then return -2 end
  local state, score = locate(id)
  score = tonumber(score) or scheduled[id] or now
  return {state or (score > now and 'delayed' or 'ready'), score, record}
end

-- What is due at once is ready at once, and needs no carry worker.
local function add(id, when, record)
  local is_time = string.sub(when, 1, 1) == '@'
  local start = (is_time or when == '0') and now or soonest
  if call('HSETNX', JOBS, id, '{"createdAt":' .. integer(start) .. ',' .. record) == 0 then
    return existing(id)
  end
  local at = is_time and math.max(tonumber(string.sub(when, 2)), now) or start + tonumber(when)
  put(id, at)
  scheduled[id] = at
  return at
end

for i = 3, #ARGV, 3 do
  local id = ARGV[i]
  if max_jobs > 0 and call('HLEN', JOBS) >= max_jobs and call('HEXISTS', JOBS, id) == 0 then
    replies[#replies + 1] = -1
  else
    replies[#replies + 1] = add(id, ARGV[i + 1], ARGV[i + 2])
  end
end
finish()
return replies
