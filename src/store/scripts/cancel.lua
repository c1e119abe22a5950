#!lua flags=allow-oom
-- cancel.lua - jobs leave the pool because their owner says so.
--
-- ARGV from 2: id, what has to be there (see is_as_seen), ...
-- Returns {now_us, result ...}: 1 an attempt was running, 0 none, -1 no such job, -2 this call has looked at enough:
-- ask again, -4 not as seen.
-- uses: check keep linger tag
check(2, 2)

local function cancel(id, tags)
  if has_read_enough() then return -2 end
  local is_seen = is_as_seen(id, tags)
  if is_seen == nil then return -2 end
  if not is_seen then return call('HEXISTS', JOBS, id) == 1 and -4 or -1 end
  if has(TOPICS) then keep_job(id, 'cancelled', now) end
  if call('HDEL', JOBS, id) == 0 then return -1 end
  forget_crashes(id)
  forget_attempts({id})
  return take_cancelled(id) == 'leased' and 1 or 0
end

local replies = {now_us}
for i = 2, #ARGV, 2 do replies[#replies + 1] = cancel(ARGV[i], ARGV[i + 1]) end
finish()
return replies
