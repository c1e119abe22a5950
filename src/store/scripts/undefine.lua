-- undefine.lua - deletes schedules. A deleted schedule creates no more jobs.
--
-- ARGV from 2: id, tag of the definition that the caller has read, or '*' to delete any definition; ...
-- Returns {now_us, 1 done, NOT_FOUND or NOT_AS_SEEN, ...}.

local function undefine(id, tag)
  local its_tag = Schedules.fired(id)
  if not its_tag then return RESULT.NOT_FOUND end
  if tag ~= '*' and its_tag ~= tag then return RESULT.NOT_AS_SEEN end
  call('HDEL', SCHEDULES, id)
  call('HDEL', FIRED, id)
  call('ZREM', FIRES, id)
  call('HDEL', SKIPPED, id)
  call('ZREM', SKIPPED_UNTIL, id)
  call('ZREM', SCHEDULE_NAMES, id)
  Expected.forget(id)
  return 1
end

script('undefine', {'allow-oom'}, {Expected, Schedules}, function()
  check(2, 2)
  local replies = {now_us}
  for i = 2, #ARGV, 2 do replies[#replies + 1] = undefine(ARGV[i], ARGV[i + 1]) end
  return replies
end)
