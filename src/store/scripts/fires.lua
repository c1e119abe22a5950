-- fires.lua - lists schedules whose time has come, the earliest first. Then lists the schedules whose next time must be
-- computed again, because the clock has stepped back.
--
-- ARGV[2] maximum number of schedules; 0: only the numbers
-- Returns {now_us, number of all such schedules, the first later time of any schedule or -1, then for each schedule:
-- id, its time in ms or -1, definition, entry in fired, text in skipped}. Missing texts are empty. The list ends early
-- if it has some MiB of definitions.

local PAGE = 16 -- number of schedules that are read with one command; a definition may have a MiB

script('fires', {'no-writes'}, {Records, Schedules}, function()
  local most = tonumber(ARGV[2])
  local later = call('ZRANGEBYSCORE', FIRES, '(' .. integer(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  local ahead = Schedules.has_clock_stepped_back()
  local number = call('ZCOUNT', FIRES, '-inf', integer(now)) + (ahead and call('ZCOUNT', SKIPPED_UNTIL, '(' .. integer(now), '+inf') or 0)
  local replies = {now_us, number, later and tonumber(later) or -1}
  local due = most > 0 and call('ZRANGEBYSCORE', FIRES, '-inf', integer(now), 'LIMIT', 0, most) or {}
  if ahead and #due < most then
    local moved = call('ZRANGEBYSCORE', SKIPPED_UNTIL, '(' .. integer(now), '+inf', 'LIMIT', 0, most - #due)
    for i = 1, #moved do due[#due + 1] = moved[i] end
  end
  for first = 1, #due, PAGE do
    if Records.has_read_enough() then break end
    local ids = {unpack(due, first, math.min(first + PAGE - 1, #due))}
    local definitions, entries = call('HMGET', SCHEDULES, unpack(ids)), call('HMGET', FIRED, unpack(ids))
    local times, skipped = call('ZMSCORE', FIRES, unpack(ids)), call('HMGET', SKIPPED, unpack(ids))
    for i = 1, #ids do
      if Records.has_read_enough() then break end
      local definition, time = definitions[i] or '', times[i] and tonumber(times[i]) or -1
      Records.bytes_left = Records.bytes_left - #definition
      for _, word in ipairs({ids[i], time, definition, entries[i] or '', skipped[i] or ''}) do replies[#replies + 1] = word end
    end
  end
  return replies
end)
