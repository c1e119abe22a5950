-- limits.lua - reads one limit that several topics share, or a page of limits by name.
--
-- ARGV[2] a limit, or empty for a page   [3] the name after which the page begins, or empty   [4] maximum number of limits
-- Returns {now_us, 1 if there are more limits, then for each limit:
--   name, text, number of attempts in flight, number of topics that wait for it, time at which its rate lets the next
--   attempt begin (ms) or -1, names of the first 100 waiting topics in their order, separated by spaces (empty in a page)
-- }. A limit that does not exist is left out.

script('limits', {'no-writes'}, {}, function()
  local limits, one, after, most = base .. 'limits', ARGV[2], ARGV[3], tonumber(ARGV[4])
  local names, replies = {one}, {now_us, 0}
  if one == '' then
    names = call('HKEYS', limits)
    table.sort(names)
  end
  local told = 0
  for i = 1, #names do
    local text = names[i] > after and call('HGET', limits, names[i])
    if text and told == most then
      replies[2] = 1
      break
    elseif text then
      for _, part in ipairs({names[i], text, 0, 0, -1, ''}) do replies[#replies + 1] = part end
      told = told + 1
    end
  end
  return replies
end)
