-- recurring.lua - reads one schedule, or a page of schedules by name.
--
-- ARGV[2] an id, or empty for a page   [3] a topic, or empty for all   [4] the id after which the page begins, or empty
-- ARGV[5] maximum number of schedules   [6] a prefix of the names topic/scheduleId, or with [3] of the scheduleIds;
--         or empty
-- Returns {now_us, 1 if there are more, then for each schedule: id, next time in ms or -1, definition, entry in fired, when it is
-- missed, ms, or -1, when an occurrence was last delivered, ms, or 0; see lib/expected.lua}.
-- A page ends early if it has some MiB of definitions.
--
-- A page by next time: ARGV[7] the place, from 0 on, at which it begins in the order of the next times; else absent   [8] only
-- schedules whose next time is not later, ms. It leaves out the entries in fired and the times of lib/expected.lua.

local AT_ONCE = 16 -- number of schedules that are read with one command; a definition may have a MiB

-- Reads a page by next time. A schedule that is fired meanwhile changes its place, so it may be missing or come twice.
local function page_by_next(place, most, until_ms)
  local found, replies = call('ZRANGE', FIRES, place, place + most, 'WITHSCORES'), {now_us, 0}
  local number = 0
  while number < most and found[2 * number + 1] and tonumber(found[2 * number + 2]) <= until_ms do number = number + 1 end
  local told, at = 0, 2
  for first = 1, number, AT_ONCE do
    local ids = {}
    for i = first, math.min(first + AT_ONCE - 1, number) do ids[#ids + 1] = found[2 * i - 1] end
    local definitions = call('HMGET', SCHEDULES, unpack(ids))
    for i = 1, #ids do
      local definition = definitions[i] or ''
      Records.bytes_left = Records.bytes_left - #definition
      replies[at + 1], replies[at + 2], replies[at + 3], replies[at + 4], replies[at + 5], replies[at + 6] =
        ids[i], tonumber(found[2 * (first + i - 1)]), definition, '', -1, 0
      at, told = at + 6, told + 1
    end
    if Records.has_read_enough() then break end
  end
  local next_at = found[2 * told + 2]
  replies[2] = next_at and tonumber(next_at) <= until_ms and 1 or 0
  return replies
end

script('recurring', {'no-writes'}, {Expected, Records}, function()
  local one, topic, after, most = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
  if ARGV[7] then return page_by_next(tonumber(ARGV[7]), most, tonumber(ARGV[8])) end
  local names = {one}
  if one == '' then
    local start = (topic ~= '' and topic .. '/' or '') .. ARGV[6]
    local goes_on = after ~= '' and string.sub(after, 1, #start) == start -- otherwise the page begins with the first name
    local from = goes_on and '(' .. after or start ~= '' and '[' .. start or '-'
    local to = start ~= '' and '(' .. start .. '\255' or '+' -- no name contains the byte 255
    names = call('ZRANGE', SCHEDULE_NAMES, from, to, 'BYLEX', 'LIMIT', 0, most + 1)
  end
  local replies, told, number = {now_us, 0}, 0, math.min(#names, most)
  local is_full = false
  for first = 1, number, AT_ONCE do
    local ids = {unpack(names, first, math.min(first + AT_ONCE - 1, number))}
    local definitions, entries, times = call('HMGET', SCHEDULES, unpack(ids)), call('HMGET', FIRED, unpack(ids)), call('ZMSCORE', FIRES, unpack(ids))
    for i = 1, #ids do
      local definition = definitions[i]
      Records.bytes_left = Records.bytes_left - #(definition or '')
      is_full = told > 0 and Records.has_read_enough()
      if is_full then break end
      told = first + i - 1
      if definition then
        local next_at = times[i]
        local missed_at, delivered_at = Expected.shown(ids[i])
        for _, word in ipairs({ids[i], next_at and tonumber(next_at) or -1, definition, entries[i] or '', missed_at, delivered_at}) do
          replies[#replies + 1] = word
        end
      end
    end
    if is_full then break end
  end
  replies[2] = #names > told and 1 or 0
  return replies
end)
