#!lua
-- schedule.lua - new jobs. No allow-oom: a full Redis refuses new work.
--
-- ARGV[2]  the most jobs in the pool, 0: no bound
-- then for each job:
--   id
--   when    ms from now, or '@' and the due time
--   record  without '{"createdAt":<ms>,', which is put in front here: the time is Redis's
-- Returns {now_us, result ...}: a due time, -1 when the pool is full, or
--   {state, due, record} of the job that has the id.
local max_jobs = tonumber(ARGV[2])
local head = '{"createdAt":' .. integer(soonest) .. ','
local replies = {now_us}
for i = 3, #ARGV, 3 do
  local id, when = ARGV[i], ARGV[i + 1]
  if max_jobs > 0 and call('HLEN', JOBS) >= max_jobs and call('HEXISTS', JOBS, id) == 0 then
    replies[#replies + 1] = -1
  elseif call('HSETNX', JOBS, id, head .. ARGV[i + 2]) == 0 then
    local state, score = locate(id)
    -- An id of this very batch is in no bucket yet.
    if not state then
      local list = places[topic_of(id)]
      for k = 2, #list, 2 do
        if list[k] == id then state, score = 'delayed', list[k - 1] end
      end
    end
    replies[#replies + 1] = {state, tonumber(score), call('HGET', JOBS, id)}
  else
    local at
    if string.sub(when, 1, 1) == '@' then
      at = math.max(tonumber(string.sub(when, 2)), now)
    else
      at = soonest + tonumber(when)
    end
    put(id, at)
    replies[#replies + 1] = at
  end
end
finish()
return replies
