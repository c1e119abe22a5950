-- survey.lua - counts due jobs. Their number changes while no script runs, just because time passes, so it cannot be
-- stored and must be counted.
-- uses: due offer

local due_jobs, oldest_due = 0, -1

-- Adds the due jobs of a topic to due_jobs, and updates oldest_due. Most topics have one due job or none; then one
-- query is enough.
local function survey(topic)
  local first = call('ZRANGE', bucket_of(topic), '0', '1', 'WITHSCORES')
  if not first[1] or not is_due(first[2]) then return end
  due_jobs = due_jobs + (first[4] and is_due(first[4]) and call('ZCOUNT', bucket_of(topic), '-inf', DUE_NOW) or 1)
  local due = ms_of(first[2])
  if oldest_due < 0 or due < oldest_due then oldest_due = due end
end

-- Counts the due jobs of topics whose time in the sorted set "due" has come, but which have not moved to "turns" yet.
-- from and most: the first of these topics to count, and the maximum number. Skips topics in the set "behind", because
-- the survey counts that whole set separately.
local function survey_due(from, most)
  local number = math.min(most, call('ZCOUNT', DUE, '-inf', now) - from)
  local topics = number > 0 and call('ZRANGE', DUE, from, from + number - 1) or {}
  local are_behind = #topics > 0 and has(BEHIND) and call('ZMSCORE', BEHIND, unpack(topics)) or {}
  for i = 1, #topics do
    if not are_behind[i] then survey(topics[i]) end
  end
  return #topics
end

-- The last result of the script survey.lua, a hash with the fields due (number of due jobs), oldest (due time of the
-- first of them, ms) and at (time of the result, ms).
local SURVEY = base .. 'survey'
local function last_survey()
  local found = call('HMGET', SURVEY, 'due', 'oldest', 'at')
  if not found[3] then return 0, -1, -1 end
  return tonumber(found[1]), tonumber(found[2]), math.max(0, now - tonumber(found[3]))
end
