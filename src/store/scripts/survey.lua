-- survey.lua - counts due jobs in steps of limited size, if there are too many topics for one call. Topics that
-- change during the survey may be missed or counted twice.
--
-- ARGV[2] cursor, empty at first   [3] maximum number of topics
-- ARGV[4] [5] results of the previous steps: number of due jobs, and due time of the first due job or -1
-- Returns {now_us, next cursor, number of due jobs, first due time}. If the cursor is empty, the survey is
-- complete, and its result is stored.

local left, last

-- A step examines topics in chunks, and ends after the chunk that uses up its time.
local CHUNK, STEP_US = 100, 4000
local function may_go_on() return left > 0 and clock.spent_us() < STEP_US end

-- step_due, step_turns and step_behind count the due jobs of some topics (maximum: most) of the sets "due", "turns"
-- and "behind". Each returns the position at which its next step begins, or nothing at the end of its set.
local function step_due(rank, most)
  local number = Survey.count_due(rank, most)
  if number == most then return rank + number end
end

-- Topics that were served since the survey began have scores above last, and are skipped.
local function step_turns(score, most)
  local topics, next_score = Turns.page(score, last, most)
  for i = 1, #topics do Survey.count(topics[i]) end
  return next_score
end

local function step_behind(name, most)
  local topics = call('ZRANGE', BEHIND, name == '' and '-' or '(' .. name, '+', 'BYLEX', 'LIMIT', 0, most)
  for i = 1, #topics do Survey.count(topics[i]) end
  if #topics == most then return topics[most] end
end

local function walk(step, place)
  while place and may_go_on() do
    local most = math.min(left, CHUNK)
    place = step(place, most)
    left = left - most
  end
  return place
end

script('survey', {'allow-oom'}, {Survey, Turns}, function()
  local cursor = ARGV[2]
  left = tonumber(ARGV[3])
  Survey.due_jobs, Survey.oldest_due = tonumber(ARGV[4]), tonumber(ARGV[5])
  local where, from
  where, from, last = string.match(cursor, '^(%a*)/?([^/]*)/?(.*)$')
  local next_cursor
  if where == '' or where == 'due' then
    local rank = walk(step_due, where == '' and 0 or tonumber(from))
    next_cursor = rank and 'due/' .. rank or 'turns/-inf/'
  elseif where == 'turns' then
    if last == '' then last = call('ZRANGE', TURNS, 0, 0, 'REV', 'WITHSCORES')[2] or '-inf' end
    local score = walk(step_turns, from)
    next_cursor = score and table.concat({'turns', score, last}, '/') or 'behind/'
  else
    local name = walk(step_behind, from)
    next_cursor = name and 'behind/' .. name or ''
  end
  if next_cursor == '' then
    probe()
    call('HSET', SURVEY, 'due', Survey.due_jobs, 'oldest', integer(Survey.oldest_due), 'at', integer(now))
  end
  return {now_us, next_cursor, Survey.due_jobs, Survey.oldest_due}
end)
