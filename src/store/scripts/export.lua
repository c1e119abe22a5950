-- export.lua - one step of a walk through all that a shard has and that cannot be derived, for a move to another Redis.
-- import.lua writes what this script returns.
--
-- ARGV[2] the place at which the step begins, or '' for the beginning   [3] 'common' for what all
--      shards share, 'shard' for the rest   [4] maximum number of rows
-- Returns {now_us, the place of the next step or '' at the end, number of topics with jobs that are not paused and at
-- which this step began, row ...}. A row is {kind, name, member, value, member, value ...}. A step ends early when it has
-- read BYTES or has taken STEP_US; only the hashes of a workflow are read at once: 10,000 steps take about 15 ms.
--
-- The walk goes through sections. Settings, schedules and answers to repeated requests come before the jobs: a job that
-- is scheduled during the walk may be missing, but then its answer is missing, too, so the client's next request schedules
-- it. A place is '<section> <place in the section>'. Most of these places are names or scores, so they outlive a restart of
-- Redis. Where there is no such order, the walk uses SCAN, and may see an entry twice.

local BYTES, STEP_US, LOOK = 1048576, 2000, 64

local rows, most, unpaused, bytes_left

local function add(row)
  for i = 3, #row do bytes_left = bytes_left - #row[i] end
  rows[#rows + 1] = row
end

-- Adds a member to a row, if it has a value.
local function with(row, member, value)
  if value then row[#row + 1], row[#row + 2] = member, value end
end

local function is_full() return #rows >= most or bytes_left <= 0 or clock.spent_us() > STEP_US end

-- ---- walks through keys: each returns the place at which it stopped, or nothing at the end ----

-- Calls each(name) for the names of a sorted set whose scores are all 0.
local function by_name(key, place, each)
  while true do
    local names = call('ZRANGE', key, place == '' and '-' or '(' .. place, '+', 'BYLEX', 'LIMIT', '0', LOOK)
    for i = 1, #names do
      each(names[i])
      place = names[i]
      if is_full() then return place end
    end
    if #names < LOOK then return end
  end
end

-- Calls each(member, score) for the members of a sorted set, in their order.
local function by_score(key, place, each)
  local score, member = string.match(place, '^(%S+) (.*)$')
  local rank = score and Lists.rank_of(key, score, member, true) or 0
  while true do
    local found = call('ZRANGE', key, rank, rank + LOOK - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      each(found[i], found[i + 1])
      if is_full() then return found[i + 1] .. ' ' .. found[i] end
    end
    if #found < 2 * LOOK then return end
    rank = rank + LOOK
  end
end

-- Calls each(field, value) for the entries of a hash. A place is the run of Redis in which it is valid, because each run hashes
-- by another seed; a cursor of SCAN; and how many entries of its page are done.
local function by_scan(key, place, each)
  local run, cursor, done = string.match(place, '^(%x+) (%d+) (%d+)$')
  local this_run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
  if run ~= this_run then cursor, done = '0', 0 end
  done = tonumber(done)
  repeat
    local page = call('HSCAN', key, cursor, 'COUNT', LOOK)
    for i = 2 * done + 1, #page[2], 2 do
      each(page[2][i], page[2][i + 1])
      if is_full() then return this_run .. ' ' .. cursor .. ' ' .. integer((i + 1) / 2) end
    end
    cursor, done = page[1], 0
  until cursor == '0'
end

-- Calls each(field) for the fields of a hash that is small enough to be sorted.
local function by_field(key, place, each)
  local fields = call('HKEYS', key)
  table.sort(fields, Lists.precedes)
  for i = 1, #fields do
    if Lists.precedes(place, fields[i]) then
      each(fields[i])
      if is_full() then return fields[i] end
    end
  end
end

-- ---- settings ----

-- Adds how much of a rate is used up.
local function with_rate(row, name)
  local window = call('HMGET', Rates.begun_key(name), 'window', 'number')
  with(row, 'spent', call('HGET', RATES, name))
  with(row, 'window', window[1])
  with(row, 'number', window[1] and window[2])
  return row
end

local function add_limit(name) add(with_rate({'limit', name, 'settings', call('HGET', LIMITS, name)}, '~' .. name)) end

local function add_topic(name)
  local row = {'topic', name}
  with(row, 'settings', call('HGET', TOPICS, name))
  with_rate(row, name)
  if #row > 2 then add(row) end
end

-- ---- workflows ----

-- A place in a workflow is '<part> <index> <score and place of the workflow>': the part and the index that follow. A part
-- is the number of a list; the hashes go before all lists. The events of a name are a list, too.
local PIECE, ITEM = 262144, 256 -- bytes; each item counts ITEM bytes more, so that a piece has at most 1,024
local ENTRIES = 1000 -- maximum number of entries of a hash in one row

-- Adds the entries of a list from an index on, in pieces. Returns the index at which the step ended, or nothing.
local function add_list(key, place, part, index)
  while true do
    local row, from, size = {'workflowPart', place, 'part', part, 'from', integer(index)}, index, 0
    while size < PIECE do
      local item = call('LINDEX', key, index)
      if not item then break end
      row[#row + 1], row[#row + 2] = '.' .. integer(index), item
      size, index = size + #item + ITEM, index + 1
    end
    if index > from then add(row) end
    if size < PIECE then return end
    if is_full() then return index end
  end
end

local function add_hash(key, place, part)
  local fields = call('HGETALL', key)
  for first = 1, #fields, 2 * ENTRIES do
    local row = {'workflowPart', place, 'part', part}
    for i = first, math.min(#fields, first + 2 * ENTRIES - 1), 2 do row[#row + 1], row[#row + 2] = '.' .. fields[i], fields[i + 1] end
    add(row)
  end
end

local function lists_of(place)
  local lists = {{'elements', Workflows.elements_key(place)}, {'elementJobs', Workflows.element_jobs_key(place)}}
  local names = call('HKEYS', base .. 'event_names:' .. place)
  table.sort(names, Lists.precedes)
  for i = 1, #names do
    if call('EXISTS', Events.key(place, names[i])) == 1 then lists[#lists + 1] = {'event ' .. names[i], Events.key(place, names[i])} end
  end
  return lists
end

-- Adds the rows of a workflow. Returns the part and the index at which the step ended, or nothing.
local function add_workflow(place, part, index)
  if part == 0 then
    local fields, row = call('HGETALL', Workflows.key(place)), {'workflow', place}
    with(row, 'over', call('ZSCORE', WORKFLOWS_OVER, place))
    for i = 1, #fields, 2 do row[#row + 1], row[#row + 2] = '.' .. fields[i], fields[i + 1] end
    if #fields > 0 then add(row) end
    add_hash(Workflows.open_key(place), place, 'open')
    add_hash(Workflows.steps_key(place), place, 'steps')
    part = 1
  end
  local lists = lists_of(place)
  for i = part, #lists do
    local stopped = add_list(lists[i][2], place, lists[i][1], i == part and index or 0)
    if stopped then return i, stopped end
    if is_full() and i < #lists then return i + 1, 0 end
  end
end

local function walk_workflows(place)
  local part, index, inner = string.match(place, '^(%d+) (%d+) (.*)$')
  if part then
    local workflow = string.match(inner, '^%S+ (.*)$')
    local next_part, next_index = add_workflow(workflow, tonumber(part), tonumber(index))
    if next_part then return next_part .. ' ' .. integer(next_index) .. ' ' .. inner end
    place = inner
    if is_full() then return '=' .. place end
  end
  local inside
  local stopped = by_score(WORKFLOW_TIMES, string.match(place, '^=(.*)$') or place, function(workflow, score)
    if inside then return end
    local next_part, next_index = add_workflow(workflow, 0, 0)
    if next_part then inside = next_part .. ' ' .. integer(next_index) .. ' ' .. score .. ' ' .. workflow end
  end)
  return inside or stopped and '=' .. stopped
end

-- ---- jobs ----

-- Adds the line (lib/fifo.lua) of a job that waits for its next attempt at the head of its topic, or of its key.
local function with_line(row, member, name, id, score)
  local at, its_score, head = Fifo.line(name)
  if head == id and tonumber(its_score) == tonumber(score) then with(row, member, at) end
end

-- Adds a job that has not ended. A held job waits for its receiver: its due time counts, and not the end of its hold.
local function add_job(id, score, place)
  local record, topic = call('HGET', JOBS, id), topic_of(id)
  if not record then return end
  local rank, workflow = has(RANKS) and call('HGET', RANKS, id), has(WORKFLOW_JOBS) and call('HGET', WORKFLOW_JOBS, id)
  local held = place == 'waiting' and Holds.dues(topic, {id})[1]
  local row = {'job', id, 'place', place, 'score', held and tonumber(held) < tonumber(score) and held or score, 'record', record}
  with(row, 'attempts', has(ATTEMPTS) and call('HGET', ATTEMPTS, id))
  with(row, 'crashes', has(CRASHES) and call('HGET', CRASHES, id))
  with(row, 'rank', rank)
  with(row, 'workflow', workflow)
  if workflow and string.byte(workflow) == 119 then -- 'w': a wait
    local event = Events.wait(id)
    with(row, 'wait', call('HGET', WAITS, id))
    with(row, 'waitSince', event and call('ZSCORE', Events.waiters_key(topic, event), id))
  end
  if has(LINES) then
    with_line(row, 'lineAt', topic, id, score)
    if rank then with_line(row, 'keyLineAt', topic .. '\n' .. Ranks.key_in(rank), id, score) end
  end
  add(row)
end

-- Adds the jobs of a topic in flight.
local function walk_leased(topic, place)
  return by_scan(holders_of(topic), place, function(id, claim)
    local _, due = Leases.read_claim(claim)
    if due and not string.find(id, '\n', 1, true) then add_job(id, due, 'leased') end
  end)
end

local function walk_ended(state, topic, place)
  return by_score(index_of(state, topic), place, function(id, at)
    local text = call('HGET', KEPT, id)
    if not text or string.match(text, '^%a+') ~= state then return end
    local row = {'ended', id, 'state', state, 'at', at, 'text', text}
    with(row, 'until', state ~= 'dead' and call('ZSCORE', KEPT_UNTIL, id))
    add(row)
  end)
end

-- The jobs of a topic, stage by stage: those in flight first, because they only go back to the waiting ones or end.
local STAGES = {
  walk_leased,
  function(topic, place)
    return by_score(bucket_of(topic), place, function(id, score) add_job(id, score, 'waiting') end)
  end,
  function(topic, place) return walk_ended('dead', topic, place) end,
  function(topic, place) return walk_ended('delivered', topic, place) end,
  function(topic, place) return walk_ended('cancelled', topic, place) end,
}

local function begin_topic(topic)
  if call('EXISTS', bucket_of(topic), holders_of(topic)) > 0 and not settings_of(topic).paused then unpaused = unpaused + 1 end
end

-- A place is '<topic>\n<stage>\n<place in it>', or a topic whose jobs are done.
local function walk_jobs(place)
  local topic, stage, inner = string.match(place, '^([^\n]+)\n(%d)\n(.*)$')
  stage = tonumber(stage)
  while true do
    if not topic then
      topic = call('ZRANGE', NAMES, place == '' and '-' or '(' .. place, '+', 'BYLEX', 'LIMIT', '0', '1')[1]
      if not topic then return end
      begin_topic(topic)
      stage, inner = 1, ''
    end
    for i = stage, #STAGES do
      local stopped = STAGES[i](topic, i == stage and inner or '')
      if stopped then return topic .. '\n' .. i .. '\n' .. stopped end
    end
    place, topic = topic, nil
    if is_full() then return place end
  end
end

-- ---- the walk ----

-- The key of a debounce, and the entry of a send, are removed when their jobs have ended (forget.lua). So they come behind
-- the jobs, and the answers of other idempotency keys before them.
local function walk_idempotency(place, of_debounce)
  return by_score(WINDOWS, place, function(key, at)
    local answer = (string.find(key, '/\ndebounce\n', 1, true) ~= nil) == of_debounce and call('HGET', IDEMPOTENCY, key)
    if answer then add({'idempotency', key, 'answer', answer, 'until', at}) end
  end)
end

-- The part that all shards share: limits before the patterns that name them.
local COMMON = {
  function(place) return by_field(LIMITS, place, add_limit) end,
  function(place)
    return by_field(PATTERNS, place, function(name) add({'pattern', name, 'settings', call('HGET', PATTERNS, name)}) end)
  end,
}

local OF_SHARD = {
  function(place) return by_name(NAMES, place, add_topic) end,
  function(place)
    return by_scan(KEY_SETTINGS, place, function(name, text) add({'key', name, 'settings', text}) end)
  end,
  function(place)
    return by_name(GROUP_NAMES, place, function(name) add({'group', name, 'text', call('HGET', GROUPS, name) or ''}) end)
  end,
  function(place)
    return by_name(SCHEDULE_NAMES, place, function(id)
      local row = {'schedule', id, 'definition', call('HGET', SCHEDULES, id) or ''}
      with(row, 'next', call('ZSCORE', FIRES, id))
      with(row, 'fired', call('HGET', FIRED, id))
      with(row, 'skipped', call('HGET', SKIPPED, id))
      with(row, 'skippedUntil', call('ZSCORE', SKIPPED_UNTIL, id))
      with(row, 'expected', Expected.text(id))
      add(row)
    end)
  end,
  function(place) return walk_idempotency(place, false) end,
  walk_workflows,
  walk_jobs,
  function(place) return walk_idempotency(place, true) end,
  function(place)
    return by_score(SENDS_UNTIL, place, function(id, at)
      local text = call('HGET', SENDS, id)
      if text then add({'send', id, 'text', text, 'until', at}) end
    end)
  end,
}

script('export', {'no-writes'}, {Events, Expected, Fifo, Holds, Leases, Lists, Ranks, Rates, Workflows}, function()
  rows, most, unpaused, bytes_left = {}, tonumber(ARGV[4]), 0, BYTES
  has_lanes = has(LANES)
  local section, place = string.match(ARGV[2], '^(%d+) (.*)$')
  section, place = tonumber(section or 1), place or ''
  local sections = ARGV[3] == 'common' and COMMON or OF_SHARD
  if section > #sections then error('not a place') end
  while section <= #sections do
    local stopped = sections[section](place)
    if stopped then return {now_us, section .. ' ' .. stopped, unpaused, unpack(rows)} end
    section, place = section + 1, ''
    if is_full() and section <= #sections then return {now_us, section .. ' ', unpaused, unpack(rows)} end
  end
  return {now_us, '', unpaused, unpack(rows)}
end)
