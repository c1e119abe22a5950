#!lua flags=allow-oom
-- survey.lua - a bounded step of the count of due jobs, where too many topics have some for one call. Topics that change
-- meanwhile may be missed or counted twice.
--
-- ARGV[2] cursor, empty at first   [3] the most topics
-- ARGV[4] [5] due jobs, and due time of the first of them or -1, that the steps before have found
-- Returns {now_us, next cursor, due jobs, first due time}; with an empty cursor the survey is whole, and noted.
-- uses: probe survey
local cursor, most = ARGV[2], tonumber(ARGV[3])
due_jobs, oldest_due = tonumber(ARGV[4]), tonumber(ARGV[5])
local where, from, last = string.match(cursor, '^(%a*)/?([^/]*)/?(.*)$')
local next_cursor

if where == '' or where == 'due' then -- by rank
  from = where == '' and 0 or tonumber(from)
  next_cursor = survey_due(from, most) == most and 'due/' .. from + most or 'turns/-inf/'
elseif where == 'turns' then -- by score; those that have had their turn since come later, and are passed over
  if last == '' then last = call('ZRANGE', TURNS, 0, 0, 'REV', 'WITHSCORES')[2] or '-inf' end
  local topics = call('ZRANGEBYSCORE', TURNS, '(' .. from, last, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #topics, 2 do survey(topics[i]) end
  next_cursor = #topics == 2 * most and table.concat({'turns', topics[#topics], last}, '/') or 'behind/'
else -- by name
  local topics = call('ZRANGE', BEHIND, from == '' and '-' or '(' .. from, '+', 'BYLEX', 'LIMIT', 0, most)
  for i = 1, #topics do survey(topics[i]) end
  next_cursor = #topics == most and 'behind/' .. topics[most] or ''
end

if next_cursor == '' then
  probe()
  call('HSET', SURVEY, 'due', due_jobs, 'oldest', integer(oldest_due), 'at', integer(now))
end
return {now_us, next_cursor, due_jobs, oldest_due}
