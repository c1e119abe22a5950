-- reoffer.lua - after the settings of patterns have changed: decides again which topics may be served. This is called
-- offering a topic, see turns.lua.
--
-- A pattern may match very many topics, so its new settings take effect in steps. A walk visits the topics with due
-- jobs: first those in the set "behind", which could not be served, then those in the set "turns", up to the score that
-- was the last one when the walk began. The field reoffer of META has the position of the walk, and exists only during
-- a walk: 'behind/<name>/<last score>' in the first part, 'turns/<score>/<last score>' in the second. A fifo topic
-- whose first job waits for its retry may be in neither set. Another walk, which comes first, finds such topics in the
-- hash LINES (fifo.lua); its position is the field reoffer_lines of META.

local Reoffer = {uses = {Places, Turns}}

local function behind_step(name, last, most)
  local topics = call('ZRANGE', BEHIND, name == '' and '-' or '(' .. name, '+', 'BYLEX', 'LIMIT', 0, most)
  if #topics == most then return topics, table.concat({'behind', topics[most], last}, '/') end
  return topics, last ~= '' and 'turns/-inf/' .. last
end

-- Returns the next topics of "turns" with scores above score, up to last, and the next position of the walk, or nothing
-- at the end. Topics with scores above last were served since the walk began, and so were already offered with the new
-- settings.
local function turns_step(score, last, most)
  local topics, next_score = Turns.page(score, last, most)
  return topics, next_score and table.concat({'turns', next_score, last}, '/')
end

-- Starts both walks, or starts them again from the beginning if they are under way.
function Reoffer.start()
  local last = call('ZRANGE', TURNS, 0, 0, 'REV', 'WITHSCORES')[2] or ''
  call('HSET', META, 'reoffer', 'behind//' .. last)
  if has(LINES) then call('HSET', META, 'reoffer_lines', '0') end
end

-- Touches topics, so that Places.finish() offers them (places.lua). One query checks whether any of these topics has
-- jobs in flight; usually none has.
local function touch_all(topics)
  local keys = {}
  for i = 1, #topics do
    Places.touch(topics[i])
    keys[i] = holders_of(topics[i])
  end
  if #keys == 0 or call('EXISTS', unpack(keys)) > 0 then return end
  for i = 1, #topics do Turns.in_flight[topics[i]] = 0 end
end

-- Does a step of the walk through LINES. Returns the next position, or nothing at the end. most: about how many entries
-- the step visits.
local function lines_step(most)
  local cursor = call('HGET', META, 'reoffer_lines')
  if not cursor then return end
  local page = call('HSCAN', LINES, cursor, 'COUNT', most)
  for i = 1, #page[2], 2 do Places.leave_fifo(page[2][i]) end
  if page[1] ~= '0' then
    call('HSET', META, 'reoffer_lines', page[1])
    return page[1]
  end
  call('HDEL', META, 'reoffer_lines')
end

-- Does a step of the walks. The topics of the step are offered at the end of the script, by Places.finish(). most:
-- maximum number of topics. Returns the number of topics, and the next position, or nothing at the end of both walks.
-- The walk through LINES comes first: otherwise a topic that is no longer fifo would be offered before its head has the
-- time of its next attempt.
function Reoffer.step(most)
  local number, place = 0, lines_step(most)
  if place then return number, place end
  place = call('HGET', META, 'reoffer')
  while place and number < most do
    local where, from, last = string.match(place, '^(%a+)/([^/]*)/?(.*)$')
    local topics
    if where == 'behind' then
      topics, place = behind_step(from, last, most - number)
    else
      topics, place = turns_step(from, last, most - number)
    end
    touch_all(topics)
    number = number + #topics
  end
  if place then
    call('HSET', META, 'reoffer', place)
  elseif call('HEXISTS', META, 'reoffer') == 1 then
    call('HDEL', META, 'reoffer')
  end
  return number, place
end

return Reoffer
