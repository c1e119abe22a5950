-- limits.lua - reads one limit that topics share (lib/limits.lua), or a page of them by name.
--
-- ARGV[2] a name, or '' for a page   [3] the name after which the page begins, or ''   [4] maximum number of limits
-- Returns {now_us, 1 if there are more limits, then for each limit: name, text, number of attempts in flight, number of
-- topics with due jobs that wait for the limit, time at which its rate allows the next attempt, ms, or -1; names of the
-- first of these topics, separated by spaces, or '' in a page}.

local TOPICS_TOLD = 100

script('limits', {'no-writes'}, {Limits}, function()
  local one, after, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
  local names = one ~= '' and {one} or call('HKEYS', LIMITS)
  table.sort(names)
  local replies, told = {now_us, 0}, 0
  for i = 1, #names do
    local name = names[i]
    local text = name > after and call('HGET', LIMITS, name)
    if text and told == most then
      replies[2] = 1
      break
    end
    if text then
      local key = Limits.waiting_key(name)
      local first = call('ZRANGE', key, '0', '0')[1]
      local _, next_at = Limits.room(name, first, not first and now or nil)
      for _, part in ipairs({
        name, text, tonumber(call('HGET', LIMITS_USED, name) or 0), call('ZCARD', key), next_at or -1,
        one ~= '' and table.concat(call('ZRANGE', key, '0', TOPICS_TOLD - 1), ' ') or '',
      }) do
        replies[#replies + 1] = part
      end
      told = told + 1
    end
  end
  return replies
end)
