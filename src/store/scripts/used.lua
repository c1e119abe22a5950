-- used.lua - writes when tokens of clients were used last, and reads it. A process writes a token at most once a minute.
--
-- ARGV[2] number of tokens to write   then for each of them: name, time of its last use, ms
-- ARGV after these: names of tokens to read
-- Returns {now_us, time of the last use of each, ms, or '' ...}.
--
-- tokens_used is a HASH. If it has many tokens that are used no more, those that were used longest ago are removed.

local TOKENS_MAX, LEFT = 2000, 1000

local function remove_oldest(key)
  local all, names, times = call('HGETALL', key), {}, {}
  for i = 1, #all, 2 do
    names[#names + 1] = all[i]
    times[all[i]] = tonumber(all[i + 1]) or 0
  end
  table.sort(names, function(a, b) return times[a] < times[b] end)
  for i = 1, #names - LEFT, 100 do call('HDEL', key, unpack(names, i, math.min(i + 99, #names - LEFT))) end
end

script('used', {'allow-oom'}, {}, function()
  local number, key, replies = tonumber(ARGV[2]), base .. 'tokens_used', {now_us}
  for i = 3, 2 * number + 2, 2 do
    if not string.match(ARGV[i + 1], '^%d+$') then error('not a number') end
  end
  probe_slot()
  refuse_newer_format()
  for i = 3, 2 * number + 2, 2 do
    if tonumber(ARGV[i + 1]) > (tonumber(call('HGET', key, ARGV[i]) or 0) or 0) then call('HSET', key, ARGV[i], ARGV[i + 1]) end
  end
  if number > 0 and call('HLEN', key) > TOKENS_MAX then remove_oldest(key) end
  for i = 2 * number + 3, #ARGV do replies[#replies + 1] = call('HGET', key, ARGV[i]) or '' end
  return replies
end)
