-- reoffer.lua - offers topics again after the settings of patterns have changed.
--
-- A pattern may match very many topics, so its new settings take effect in steps. A walk visits the topics with due
-- jobs: first those in "behind", which were held, then those in "turns", up to the last score at the beginning of the
-- walk. META has the position of the walk: 'behind/<name>/<last score>', then 'turns/<score>/<last score>'; absent:
-- no walk is under way. A fifo topic whose first job waits for its retry may be in neither of the two. A second walk,
-- through LINES (see line.lua), finds these topics; its cursor is reoffer_lines in META.
-- uses: again has places turns_page

local function behind_step(name, last, most)
  local topics = call('ZRANGE', BEHIND, name == '' and '-' or '(' .. name, '+', 'BYLEX', 'LIMIT', 0, most)
  if #topics == most then return topics, table.concat({'behind', topics[most], last}, '/') end
  return topics, last ~= '' and 'turns/-inf/' .. last
end

-- Visits topics in "turns" with scores up to last. Topics with higher scores have been served since the walk began, and
-- were offered then.
local function turns_step(score, last, most)
  local topics, next_score = turns_page(score, last, most)
  return topics, next_score and table.concat({'turns', next_score, last}, '/')
end

-- Starts both walks, from the beginning if they are under way.
local function start_reoffer()
  local last = call('ZRANGE', TURNS, 0, 0, 'REV', 'WITHSCORES')[2] or ''
  call('HSET', META, 'reoffer', 'behind//' .. last)
  if has(LINES) then call('HSET', META, 'reoffer_lines', '0') end
end

-- Touches topics, so that finish offers them. One query checks which of them have jobs in flight, because most have
-- none.
local function touch_all(topics)
  local keys = {}
  for i = 1, #topics do
    touch(topics[i])
    keys[i] = holders_of(topics[i])
  end
  if #keys == 0 or call('EXISTS', unpack(keys)) > 0 then return end
  for i = 1, #topics do in_flight[topics[i]] = 0 end
end

-- Does a step of the walk through LINES. Returns the next cursor, or nothing at the end.
local function lines_step(most)
  local cursor = call('HGET', META, 'reoffer_lines')
  if not cursor then return end
  local page = call('HSCAN', LINES, cursor, 'COUNT', most)
  for i = 1, #page[2], 2 do leave_line(page[2][i]) end
  if page[1] ~= '0' then
    call('HSET', META, 'reoffer_lines', page[1])
    return page[1]
  end
  call('HDEL', META, 'reoffer_lines')
end

-- Does a step of the walk; finish then offers the topics of this step. Returns the number of topics, and the next
-- position or nothing.
local function reoffer(most)
  local number, place = 0, call('HGET', META, 'reoffer')
  while place and number < most do
    local where, from, last = string.match(place, '^(%a+)/([^/]*)/?(.*)$')
    local topics
    if where == 'behind' then
      topics, place = behind_step(from, last, most - number)
    else
      topics, place = turns_step(from, last, most - number)
    end
    touch_all(topics)
    for i = 1, #topics do leave_line(topics[i]) end
    number = number + #topics
  end
  if place then
    call('HSET', META, 'reoffer', place)
  elseif call('HEXISTS', META, 'reoffer') == 1 then
    call('HDEL', META, 'reoffer')
  end
  return number, place or number < most and lines_step(most - number)
end
