-- survey.lua - counts due jobs. Their number changes while no script runs, just because time passes, so it cannot be
-- stored and must be counted.

local Survey = {uses = {}}

Survey.due_jobs, Survey.oldest_due = 0, -1

-- Adds the due jobs of a topic to Survey.due_jobs, and updates Survey.oldest_due. Most topics have one due job or none;
-- then one query is enough.
function Survey.count(topic)
  local first = call('ZRANGE', bucket_of(topic), '0', '1', 'WITHSCORES')
  if not first[1] or not is_due(first[2]) then return end
  Survey.due_jobs = Survey.due_jobs + (first[4] and is_due(first[4]) and call('ZCOUNT', bucket_of(topic), '-inf', '(' .. integer(due_before)) or 1)
  local due = ms_of(first[2])
  if Survey.oldest_due < 0 or due < Survey.oldest_due then Survey.oldest_due = due end
end

-- Counts the due jobs of topics whose time in the sorted set "due" has come, but which have not moved to "turns" yet.
-- from and most: the first of these topics to count, and the maximum number. Skips topics in the set "behind", because
-- the survey counts that whole set separately.
function Survey.count_due(from, most)
  local number = math.min(most, call('ZCOUNT', DUE, '-inf', now) - from)
  local topics = number > 0 and call('ZRANGE', DUE, from, from + number - 1) or {}
  local are_behind = #topics > 0 and has(BEHIND) and call('ZMSCORE', BEHIND, unpack(topics)) or {}
  for i = 1, #topics do
    if not are_behind[i] then Survey.count(topics[i]) end
  end
  return #topics
end

-- Returns the last result of the script survey.lua: number of due jobs, due time of the first of them, ms, and its age,
-- ms; or 0, -1, -1.
function Survey.last()
  local found = call('HMGET', SURVEY, 'due', 'oldest', 'at')
  if not found[3] then return 0, -1, -1 end
  return tonumber(found[1]), tonumber(found[2]), math.max(0, now - tonumber(found[3]))
end

function Survey.begin()
  Survey.due_jobs, Survey.oldest_due = 0, -1
end

return Survey
