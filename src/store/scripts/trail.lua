-- trail.lua - removes lines from the trail (note.lua) that the history has, and returns the next ones.
--
-- ARGV[2] number of lines that had been removed when the lines were read: they are removed only if it is still the same.
--      So no line is removed that another archiver has not read, and none after note.lua has dropped some
-- ARGV[3] number of lines to remove; 0: none   [4] maximum number of lines to return   [5] maximum bytes of them; the first
--      line is always returned
-- Returns {now_us, number of lines removed so far, number of lines dropped so far, line ...}.

local function remove(trail, number)
  local lines, bytes = call('LPOP', trail, number) or {}, 0
  for i = 1, #lines do bytes = bytes + #lines[i] end
  call('HINCRBY', NUMBERS, 'trail_removed', #lines)
  call('HINCRBY', NUMBERS, 'trail_bytes', -bytes)
  if call('EXISTS', trail) == 0 then call('HDEL', NUMBERS, 'trail_bytes') end -- the stored sum is reset
end

script('trail', {'allow-oom'}, {}, function()
  local place, number, most, bytes_left = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  probe_slot()
  refuse_newer_format()
  local trail = base .. 'trail'
  if number > 0 and (call('HGET', NUMBERS, 'trail_removed') or '0') == place then remove(trail, number) end
  local numbers = call('HMGET', NUMBERS, 'trail_removed', 'trail_dropped')
  local replies = {now_us, tonumber(numbers[1]) or 0, tonumber(numbers[2]) or 0}
  local lines = call('LRANGE', trail, 0, most - 1)
  for i = 1, #lines do
    bytes_left = bytes_left - #lines[i]
    if i > 1 and bytes_left < 0 then break end
    replies[i + 3] = lines[i]
  end
  return replies
end)
