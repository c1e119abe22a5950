-- hours.lua - counts for each topic how the attempts of the last hour ended, and finds the topics that fail.
--
-- An hour is divided into parts of five minutes, which are numbered since 1970. Each part has a hash: <letter><topic>
-- -> number of outcomes. The letter is d (delivered), r (failed, and will be retried) or x (dead); the field a<topic>
-- has the last answer to a failed attempt. All topics share this hash, because a key for each topic would cost more
-- than all other writes when a job ends. Each part with failures also has a sorted set: topic -> number of failures.

local Hours = {uses = {}}

local PART_MS, PARTS = 300000, 12
local part -- the current one
local function hour_of(number) return base .. 'hour:' .. number end

local function failures_of(number) return base .. 'failures:' .. number end

-- Returns two lists: the stored parts that belong to the last hour, and all other stored parts. The field 'hours' of
-- NUMBERS lists the parts that are stored.
local function parts_by_age()
  local recent, old = {}, {}
  for number in string.gmatch(call('HGET', NUMBERS, 'hours') or '', '%d+') do
    local list = tonumber(number) > part - PARTS and tonumber(number) <= part and recent or old
    list[#list + 1] = number
  end
  return recent, old
end

-- Adds the current part to the list of stored parts. Old parts are deleted in the background, because they may be
-- large.
local function list_part()
  local recent, old = parts_by_age()
  for i = 1, #recent do
    if tonumber(recent[i]) == part then return end
  end
  recent[#recent + 1] = part
  call('HSET', NUMBERS, 'hours', table.concat(recent, ','))
  for i = 1, #old do call('UNLINK', hour_of(old[i]), failures_of(old[i])) end
end

local counts, failures, answers = {}, {}, {}
function Hours.count(topic, letter, number)
  local field = letter .. topic
  counts[field] = (counts[field] or 0) + number
end

-- Counts a failed attempt or a death. line: the attempt's line (attempt_line.h), or '' if no attempt was made.
function Hours.count_failure(topic, letter, line)
  Hours.count(topic, letter, 1)
  failures[topic] = (failures[topic] or 0) + 1
  answers[topic] = string.match(line, '^%S+ %d+ %d+ (%S+)') or answers[topic]
end

-- Writes the counts. Called at the end of each script that counts.
function Hours.write()
  local fields, numbers, is_new = {}, {}, false
  for field in pairs(counts) do fields[#fields + 1] = field end
  if not fields[1] then return end
  local known = call('HMGET', hour_of(part), unpack(fields))
  for i = 1, #fields do
    is_new = is_new or not known[i]
    numbers[2 * i - 1] = fields[i]
    numbers[2 * i] = (tonumber(known[i]) or 0) + counts[fields[i]]
  end
  for topic, answer in pairs(answers) do
    numbers[#numbers + 1], numbers[#numbers + 2] = 'a' .. topic, answer
  end
  call('HSET', hour_of(part), unpack(numbers))
  for topic, number in pairs(failures) do call('ZINCRBY', failures_of(part), number, topic) end
  if is_new then list_part() end
end

-- A topic fails if at least a tenth of its attempts failed: those of the present and the previous part, or, if these
-- are fewer than RECENT_LEAST, those of the hour.
local RECENT_LEAST, FAILING_SHARE = 10, 0.1
local function mark_failing(its)
  local failed, all = its.recent_failed, its.recent
  if all < RECENT_LEAST then failed, all = its.r + its.x, its.d + its.r + its.x end
  its.fails = failed > 0 and failed >= FAILING_SHARE * all
end

-- Returns the outcomes of the last hour: topic -> {d = number, r = number, x = number, answer = the last answer to a
-- failed attempt or '', fails = whether the topic fails}.
function Hours.last(topics)
  local letters, fields, sums = {'d', 'r', 'x', 'a'}, {}, {}
  for i = 1, #topics do
    sums[topics[i]] = {d = 0, r = 0, x = 0, recent = 0, recent_failed = 0, answer = '', answer_part = 0}
    for k = 1, #letters do fields[#fields + 1] = letters[k] .. topics[i] end
  end
  for _, number in ipairs(#topics > 0 and parts_by_age() or {}) do
    local is_recent = tonumber(number) >= part - 1
    for i, found in ipairs(call('HMGET', hour_of(number), unpack(fields))) do
      local its = sums[topics[math.ceil(i / #letters)]]
      local letter = letters[(i - 1) % #letters + 1]
      if letter == 'a' then
        if found and tonumber(number) >= its.answer_part then its.answer, its.answer_part = found, tonumber(number) end
      else
        local outcomes = tonumber(found) or 0
        its[letter] = its[letter] + outcomes
        if is_recent then
          its.recent = its.recent + outcomes
          if letter ~= 'd' then its.recent_failed = its.recent_failed + outcomes end
        end
      end
    end
  end
  for i = 1, #topics do mark_failing(sums[topics[i]]) end
  return sums
end

-- Returns the names of topics that fail, those with the most failures within the hour first (maximum: most). Examines
-- a bounded number of topics: those with the most failures of each part.
local FAILURES_LOOK, FAILURES_MAX = 50, 200
function Hours.failing_names(most)
  local parts, found, is_found, names = parts_by_age(), {}, {}, {}
  table.sort(parts, function(a, b) return tonumber(a) > tonumber(b) end)
  for _, number in ipairs(parts) do
    for _, topic in ipairs(call('ZRANGE', failures_of(number), 0, FAILURES_LOOK - 1, 'REV')) do
      if not is_found[topic] and #found < FAILURES_MAX then
        is_found[topic] = true
        found[#found + 1] = topic
      end
    end
  end
  local hours = Hours.last(found)
  for i = 1, #found do
    if hours[found[i]].fails then names[#names + 1] = found[i] end
  end
  table.sort(names, function(a, b)
    local left, right = hours[a].r + hours[a].x, hours[b].r + hours[b].x
    if left ~= right then return left > right end
    return a < b
  end)
  return {unpack(names, 1, most)}
end

-- Returns the names of topics with failures in the present or the previous part, those with the most failures of each
-- part first (maximum: most, for each part).
function Hours.failing_lately(most)
  local names = {}
  for number = part, part - 1, -1 do
    for _, topic in ipairs(call('ZRANGE', failures_of(number), 0, most - 1, 'REV')) do names[#names + 1] = topic end
  end
  return names
end

-- Returns the outcomes of a topic: the numbers of delivered and of failed attempts in the present and the previous part,
-- and a text with the deaths of the last hour, 'part number part number ...'.
function Hours.lately(topic)
  local delivered, failed, deaths = 0, 0, {}
  for _, number in ipairs((parts_by_age())) do
    local found = call('HMGET', hour_of(number), 'd' .. topic, 'r' .. topic, 'x' .. topic)
    if tonumber(number) >= part - 1 then
      delivered, failed = delivered + (tonumber(found[1]) or 0), failed + (tonumber(found[2]) or 0) + (tonumber(found[3]) or 0)
    end
    if found[3] then deaths[#deaths + 1] = number .. ' ' .. found[3] end
  end
  return delivered, failed, table.concat(deaths, ' ')
end

function Hours.part() return part end

function Hours.begin()
  part = math.floor(now / PART_MS)
  if next(counts) then counts, failures, answers = {}, {}, {} end
end

return Hours
