-- survey.lua - counts what changes by time alone: jobs that are due.
-- uses: due offer

local due_jobs, oldest_due = 0, -1

-- Adds the due jobs of a topic. Most have one, for which one look is enough.
local function survey(topic)
  local first = call('ZRANGEBYSCORE', bucket_of(topic), '-inf', DUE_NOW, 'WITHSCORES', 'LIMIT', '0', '2')
  if not first[1] then return end
  due_jobs = due_jobs + (first[3] and call('ZCOUNT', bucket_of(topic), '-inf', DUE_NOW) or 1)
  local due = ms_of(first[2])
  if oldest_due < 0 or due < oldest_due then oldest_due = due end
end

-- Topics whose time has come, but which have not been offered since; those that are behind are counted as such.
local function survey_due(from, most)
  local number = math.min(most, call('ZCOUNT', DUE, '-inf', now) - from)
  local topics = number > 0 and call('ZRANGE', DUE, from, from + number - 1) or {}
  for i = 1, #topics do
    if not (has(BEHIND) and call('ZSCORE', BEHIND, topics[i])) then survey(topics[i]) end
  end
  return #topics
end

-- Where survey.lua leaves what it found: 'due jobs', 'oldest', and 'at', when that was so, ms.
local SURVEY = base .. 'survey'
local function last_survey()
  local found = call('HMGET', SURVEY, 'due', 'oldest', 'at')
  if not found[3] then return 0, -1, -1 end
  return tonumber(found[1]), tonumber(found[2]), math.max(0, now - tonumber(found[3]))
end
