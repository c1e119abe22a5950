-- limit_set.lua - writes or removes a limit that several topics share, unless it has changed since the caller read it.
--
-- ARGV[2] name   [3] the text that was read, or empty   [4] the text to write, or empty to remove the limit
-- Returns {now_us, 1} if it was written, {now_us, 0} if it was changed meanwhile, or {now_us, 2, name, ...} if it was
-- not removed, because topics or patterns name it: the first 10 of them.

local NAMES_MAX = 10

-- Returns the names of the first topics and patterns whose settings name the limit.
local function users_of(limit)
  local users = {}
  for _, key in ipairs({PATTERNS, TOPICS}) do
    local texts, found = call('HGETALL', key), {}
    for i = 1, #texts, 2 do
      if read_settings(texts[i + 1]).limit == limit then found[#found + 1] = texts[i] end
    end
    table.sort(found)
    for i = 1, #found do users[#users + 1] = found[i] end
  end
  return users
end

script('limit_set', {'allow-oom'}, {}, function()
  if #ARGV ~= 4 then error('wrong number of arguments') end
  probe()
  local limits, name, old, new = base .. 'limits', ARGV[2], ARGV[3], ARGV[4]
  if (call('HGET', limits, name) or '') ~= old then return {now_us, 0} end
  if new == '' then
    local users = users_of(name)
    if #users > 0 then return {now_us, 2, unpack(users, 1, math.min(#users, NAMES_MAX))} end
    call('HDEL', limits, name)
  else
    raise_format(FORMAT_LIMITS)
    call('HSET', limits, name, new)
  end
  return {now_us, 1}
end)
