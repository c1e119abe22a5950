-- demand.lua - counts the waiting jobs of each topic by due time, in cells of equal length, for the forecast. A walk
-- through all topics, in the order of their names, takes many calls; each takes Redis a few ms. A call may end within a
-- topic that has very many jobs. Jobs that change during the walk may be missed or counted twice.
--
-- A held job, and one that waits for a retry, counts at the time of its next attempt.
--
-- ARGV[2] the topic in or after which the call begins, or ''   [3] 1: only this topic; else 0   [4] the cell of this topic
--      at which the call begins; -1: the topic is over, or [2] is ''   [5] start of the first cell, ms   [6] length of a
--      cell, ms   [7] number of cells   [8] number of cells of a step, or absent: of a topic without settings, up to LUMP jobs
--      of a step count in its middle
-- Returns {now_us, the topic and the cell with which the next call begins, or '' and -1 at the
-- end; then for each topic with settings or with jobs in these cells: name, settings or '' ('=': those of the topic before), time
-- before which the head of its line may not be attempted, ms, or 0; the time up to which the tokens of its rate are spent, us,
-- or 0; for a rate with windows, when the current one began, ms, and its number of attempts, else 0 and 0; when its first overdue
-- job was due, ms, or 0; 'cell number cell number ...', where cell -1 has the overdue jobs}.

local origin, length, cells, counts

local function cell_of(score)
  if score < now + 1 then return -1 end
  return math.floor((score - origin) / length)
end

local function note(cell, number)
  if number > 0 then
    counts[#counts + 1] = cell
    counts[#counts + 1] = number
  end
end

-- Returns the score before which the jobs of a cell are.
local function end_of(cell) return cell < 0 and '(' .. integer(due_before) or '(' .. integer(origin + (cell + 1) * length) end

local STEP_US = 3000
local function may_go_on() return clock.spent_us() < STEP_US end

-- Counts the jobs of a bucket from a cell on. Reads the places of a few jobs at a time; of a cell with many jobs, only
-- their number. Returns the cell with which the next call begins, if jobs are left.
local FEW, MANY = 64, 256
local function count_bucket(bucket, from)
  local rank = from < 0 and 0 or call('ZCOUNT', bucket, '-inf', end_of(from - 1))
  local size = FEW
  while true do
    local places = call('ZRANGE', bucket, rank, rank + size - 1, 'WITHSCORES')
    local cell, number = nil, 0
    for i = 2, #places, 2 do
      local its = cell_of(tonumber(places[i]))
      if its >= cells then
        if cell then note(cell, number) end
        return
      end
      if its ~= cell then
        if cell then note(cell, number) end
        rank, cell, number = rank + number, its, 0
      end
      number = number + 1
    end
    if #places < 2 * size then
      if cell then note(cell, number) end
      return
    end
    local below = call('ZCOUNT', bucket, '-inf', end_of(cell))
    note(cell, below - rank)
    size = number == size and 2 or math.min(2 * size, MANY)
    rank = below
    if not may_go_on() then return cell + 1 end
  end
end

-- Counts the jobs of a bucket from a cell on, step by step; those of a step with many jobs cell by cell. This takes a fraction of
-- the time of count_bucket.
local per, steps
local LUMP = 100
local function count_steps(bucket, from)
  local below, cell = 0, math.max(from, 0)
  if from <= 0 then
    below = call('ZCOUNT', bucket, '-inf', end_of(-1))
    if from < 0 then note(-1, below) end
  else
    below = call('ZCOUNT', bucket, '-inf', end_of(from - 1))
  end
  local all, phase = call('ZCARD', bucket), math.floor(origin / length) % per
  while cell < cells and below < all do
    local last = math.min(cell + per - (cell + phase) % per, cells) - 1
    local below_next = call('ZCOUNT', bucket, '-inf', end_of(last))
    if below_next - below <= LUMP then
      note(math.floor((cell + last) / 2), below_next - below)
    else
      for one = cell, last do
        local below_one = one == last and below_next or call('ZCOUNT', bucket, '-inf', end_of(one))
        note(one, below_one - below)
        below = below_one
      end
    end
    below, cell = below_next, last + 1
    if not may_go_on() and cell < cells then return cell end
  end
end

-- Returns whether count_steps is faster for a bucket, because of the number of its jobs in the cells.
local function has_many(bucket)
  return per > 1 and call('ZCARD', bucket) > MANY and call('ZCOUNT', bucket, '-inf', end_of(cells - 1)) > 2 * steps
end

local replies, settings_before
local function examine(topic, from)
  counts = {}
  local bucket, first = bucket_of(topic), nil
  local settings_text = has_settings() and settings_text_of(topic) or ''
  if from < 0 then first = call('ZRANGE', bucket, '0', '0', 'WITHSCORES') end
  local next_cell
  if from >= 0 or first[1] then
    local count = settings_text == '' and has_many(bucket) and count_steps or count_bucket
    next_cell = count(bucket, from)
  end
  if #counts == 0 and settings_text == '' then return next_cell end
  local line, spent, began, number = 0, 0, 0, 0
  if settings_text ~= '' then
    local rate = settings_of(topic).rate
    if rate and rate.window then
      local window_began, window_number = Rates.window(topic, rate)
      began, number = window_began and math.floor(window_began / 1000) or 0, window_number or 0
    elseif rate then
      spent = call('HGET', RATES, topic) or 0
    end
    if is_fifo(topic) then line = Fifo.wait_until(topic) or 0 end
  end
  local overdue_since = first and first[2] and tonumber(first[2]) < now + 1 and ms_of(first[2]) or 0
  Records.bytes_left = Records.bytes_left - #settings_text - 8 * #counts
  for _, word in ipairs({topic, settings_text ~= '' and settings_text == settings_before and '=' or settings_text, line, spent, began, number, overdue_since,
    table.concat(counts, ' ')}) do
    replies[#replies + 1] = word
  end
  settings_before = settings_text
  return next_cell
end

local PAGE = 64

script('demand', {'no-writes'}, {Fifo, Rates, Records}, function()
  local after, is_one, from = ARGV[2], ARGV[3] == '1', tonumber(ARGV[4])
  length, cells = tonumber(ARGV[6]), tonumber(ARGV[7])
  origin, per = tonumber(ARGV[5]), tonumber(ARGV[8] or 1)
  steps = cells / per
  replies, settings_before = {now_us, '', -1}, nil
  local last, next_cell
  if is_one or from >= 0 then
    last, next_cell = after, examine(after, from)
    if is_one and not next_cell then return replies end
  end
  while not is_one and not next_cell and may_go_on() and not Records.has_read_enough() do
    local start = last or after
    local names = call('ZRANGE', NAMES, start == '' and '-' or '(' .. start, '+', 'BYLEX', 'LIMIT', 0, PAGE)
    if #names == 0 then return replies end
    if has_settings() then fetch_settings(names) end
    for i = 1, #names do
      last, next_cell = names[i], examine(names[i], -1)
      if next_cell or not may_go_on() or Records.has_read_enough() then break end
    end
  end
  replies[2], replies[3] = last or after, next_cell or -1
  return replies
end)
