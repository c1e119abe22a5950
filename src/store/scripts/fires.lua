#!lua flags=no-writes
-- fires.lua - lists schedules whose time has come, the earliest first.
--
-- ARGV[2] maximum number of schedules; 0: only the numbers
-- Returns {now_us, number of schedules whose time has come, next time after now or -1, then for each schedule: id,
-- its time in ms, definition, entry in fired}. A missing definition or entry is empty. The list ends early if
-- it has some MiB of definitions.
-- uses: record schedules
local most = tonumber(ARGV[2])
local PAGE = 16 -- schedules that are read at once: a definition may have a MiB
local later = call('ZRANGEBYSCORE', FIRES, '(' .. integer(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
local replies = {now_us, call('ZCOUNT', FIRES, '-inf', integer(now)), later and tonumber(later) or -1}
local due = most > 0 and call('ZRANGEBYSCORE', FIRES, '-inf', integer(now), 'WITHSCORES', 'LIMIT', 0, most) or {}
for first = 1, #due, 2 * PAGE do
  if has_read_enough() then break end
  local ids = {}
  for i = first, math.min(first + 2 * PAGE, #due) - 1, 2 do ids[#ids + 1] = due[i] end
  local definitions, entries = call('HMGET', SCHEDULES, unpack(ids)), call('HMGET', FIRED, unpack(ids))
  for i = 1, #ids do
    if has_read_enough() then break end
    local definition = definitions[i] or ''
    record_bytes_left = record_bytes_left - #definition
    for _, word in ipairs({ids[i], tonumber(due[first + 2 * i - 1]), definition, entries[i] or ''}) do
      replies[#replies + 1] = word
    end
  end
end
return replies
