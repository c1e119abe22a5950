-- group.lua - writes groups (lists of endpoints), unless the stored group has changed since the caller read it.
--
-- ARGV from 2: name; the text that was read, or empty; the text to write, or empty to remove the group; ...
-- Returns {now_us, 1 done or 0 changed, ...}.

script('group', {'allow-oom'}, {}, function()
  if (#ARGV - 1) % 3 ~= 0 then error('wrong number of arguments') end
  probe_slot()
  refuse_newer_format()
  local replies = {now_us}
  for i = 2, #ARGV, 3 do
    local name, old, new = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if (call('HGET', GROUPS, name) or '') ~= old then
      replies[#replies + 1] = 0
    else
      if new == '' then
        call('HDEL', GROUPS, name)
        call('ZREM', GROUP_NAMES, name)
      else
        call('HSET', GROUPS, name, new)
        call('ZADD', GROUP_NAMES, '0', name)
      end
      replies[#replies + 1] = 1
    end
  end
  return replies
end)
