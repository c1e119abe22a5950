-- groups.lua - reads one group, or a page of groups by name.
--
-- ARGV[2] a group, or empty for a page   [3] the name after which the page begins, or empty   [4] maximum
--      number of groups
-- Returns {now_us, 1 if there are more groups, then for each group: name, text or ''}. A page ends early if
-- it has some MiB of texts.

script('groups', {'no-writes'}, {Records}, function()
  local one, after, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
  local names = {one}
  if one == '' then
    names = call('ZRANGE', GROUP_NAMES, after == '' and '-' or '(' .. after, '+', 'BYLEX', 'LIMIT', 0, most + 1)
  end
  local replies, told = {now_us, 0}, 0
  for i = 1, math.min(#names, most) do
    if i > 1 and Records.has_read_enough() then break end
    local text = call('HGET', GROUPS, names[i]) or ''
    Records.bytes_left = Records.bytes_left - #text
    replies[#replies + 1] = names[i]
    replies[#replies + 1] = text
    told = i
  end
  replies[2] = #names > told and 1 or 0
  return replies
end)
