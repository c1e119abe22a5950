-- stream.lua - reads the events of topics (lib/stream.lua), and notes that the caller waits for more.
--
-- ARGV from 2: topic, id of the last event that the caller has read, or '' if it reads only later ones, maximum number of
--      events, how long it waits for more, ms, ...
-- Returns {now_us, result ...}, each as Stream.read returns it.

script('stream', {'allow-oom'}, {Stream}, function()
  if (#ARGV - 1) % 4 ~= 0 then error('wrong number of arguments') end
  for i = 2, #ARGV, 4 do
    if not string.match(ARGV[i], '^[^/]+$') then error('not a topic') end
    if ARGV[i + 1] ~= '' and not string.match(ARGV[i + 1], '^%d+%-%d+$') then error('not an id') end
    if not string.match(ARGV[i + 2], '^%d+$') or not string.match(ARGV[i + 3], '^%d+$') then error('not a number') end
  end
  probe()
  local replies = {now_us}
  for i = 2, #ARGV, 4 do
    replies[#replies + 1] = Stream.read(ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]))
  end
  return replies
end)
