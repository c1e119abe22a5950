-- import.lua - writes rows of export.lua, each unless something else has its name. The flag allow-oom is not set, so a full
-- Redis refuses them.
--
-- ARGV[2] maximum number of jobs that have not ended; 0: no limit
-- then for each row: its kind, its name, number of its members, and each member with its value
-- Returns {now_us, result ...}. A result is 'imported'; 'same' if the row is there already; 'exists' if something else
-- has its name; or 'refused ' and a reason.
--
-- The rest of the data is derived here: indexes, numbers, and the places of topics in the calendar.

local room
local refused, write_new, is_time = Imports.refused, Imports.write_new, Imports.is_time
local EXISTS, SAME, IMPORTED = Imports.EXISTS, Imports.SAME, Imports.IMPORTED

-- ---- workflows ----

local AT_ONCE = 1000 -- entries in one command: Lua's unpack has room for about 8,000 values

-- Writes the entries of a row to a hash, unless it has others for one of these fields. is_whole: nothing is added to a hash
-- that exists.
local function write_hash(name, items, is_whole)
  local is_there_already, has_new = call('EXISTS', name) == 1, false
  if #items == 0 then return refused('has no entries') end
  for first = 1, is_there_already and #items or 0, 2 * AT_ONCE do
    local fields = {}
    for i = first, math.min(#items, first + 2 * AT_ONCE - 1), 2 do fields[#fields + 1] = items[i] end
    local found = call('HMGET', name, unpack(fields))
    for i = 1, #fields do
      if found[i] and found[i] ~= items[first + 2 * i - 1] then return EXISTS end
      has_new = has_new or not found[i]
    end
  end
  if is_there_already and not has_new then return SAME end
  if is_there_already and is_whole then return EXISTS end
  for first = 1, #items, 2 * AT_ONCE do
    call('HSET', name, unpack(items, first, math.min(#items, first + 2 * AT_ONCE - 1)))
  end
  return IMPORTED
end

local function workflow(place, row)
  local id, created = string.match(place, '^([^/~]+/[^/]+)/(%d+)$')
  if not id then return refused('name is not a place of a workflow') end
  if row.over and not is_time(row.over) then return refused('over is not a number') end
  local result = write_hash(Workflows.key(place), row.items, true)
  if result ~= IMPORTED then return result end
  if tonumber(created) > tonumber(call('HGET', WORKFLOWS, id) or 0) then call('HSET', WORKFLOWS, id, created) end
  call('ZADD', WORKFLOW_TIMES, created, place)
  if row.over then call('ZADD', WORKFLOWS_OVER, row.over, place) end
  return IMPORTED
end

-- Appends to a list unless it has these items. append(item): returns false if there is no room.
local function write_list(name, row, append)
  local from, size = tonumber(row.from), call('LLEN', name)
  if not from or from < 0 then return refused('from is not a number') end
  if size < from then return refused('the rows before this one are missing') end
  local number = #row.items / 2
  for i = 1, math.min(number, size - from) do
    if call('LINDEX', name, from + i - 1) ~= row.items[2 * i] then return EXISTS end
  end
  if size >= from + number then return SAME end
  for i = size - from + 1, number do
    if append(row.items[2 * i]) == false then return refused('the events of workflows exceed their limit') end
  end
  return IMPORTED
end

local function workflow_part(place, row)
  if call('EXISTS', Workflows.key(place)) == 0 then return refused('the workflow is missing') end
  local hashes = {open = Workflows.open_key(place), steps = Workflows.steps_key(place)}
  local lists = {elements = Workflows.elements_key(place), elementJobs = Workflows.element_jobs_key(place)}
  local name, event = hashes[row.part], string.match(row.part or '', '^event (.*)$')
  if name then
    return write_hash(name, row.items)
  elseif event then
    return write_list(Events.key(place, event), row, function(item) return Events.put(place, event, item) end)
  elseif lists[row.part] then
    return write_list(lists[row.part], row, function(item) call('RPUSH', lists[row.part], item) end)
  end
  return refused('part is unknown')
end

-- ---- jobs ----

-- Notes that a job belongs to a workflow, and for which event it waits.
local function join_workflow(id, row)
  local place = string.match(row.workflow, '^%a %d+ %d+ (.*)$')
  call('HSET', WORKFLOW_JOBS, id, row.workflow)
  is_there[WORKFLOW_JOBS] = true
  if not row.wait then return end
  call('HSET', WAITS, id, row.wait)
  local event = Events.wait(id)
  if not event then return end
  call('ZADD', Events.waiters_key(Events.owner_of_place(place), event), row.waitSince or integer(now), id)
  call('ZADD', Events.waiters_key(place, event), row.waitSince or integer(now), id)
end

-- Returns why a job cannot be imported, or nothing.
local function fault_of(row)
  if not row.record or not Records.created(row.record) then return 'record is not that of a job' end
  if not is_time(row.score) then return 'score is not a number' end
  if row.waitSince and not is_time(row.waitSince) then return 'waitSince is not a number' end
  if row.rank and not string.match(row.rank, '^%d') then return 'rank is not a priority and a key' end
  local place = row.workflow and (string.match(row.workflow, '^%a %d+ %d+ (.*)$') or '')
  if place and call('EXISTS', Workflows.key(place)) == 0 then return 'the workflow is missing' end
end

local function job(id, row)
  local fault, name = fault_of(row), topic_of(id)
  if fault then return refused(fault) end
  local old = call('HGET', JOBS, id)
  if old then return old == row.record and SAME or EXISTS end
  if room < 1 then return refused('Redis has as many jobs as --max-jobs allows') end
  room = room - 1
  call('HSET', JOBS, id, row.record)
  Expiries.note_of(id, row.record)
  Lanes.note_rank(id, row.rank or Ranks.in_record(row.record) or Ranks.PLAIN)
  if row.attempts then
    call('HSET', ATTEMPTS, id, row.attempts)
    is_there[ATTEMPTS] = true
  end
  if row.crashes then
    call('HSET', CRASHES, id, row.crashes)
    is_there[CRASHES] = true
  end
  if row.workflow then join_workflow(id, row) end
  if tonumber(row.lineAt) then Fifo.write_line(name, tonumber(row.lineAt), row.score, id) end
  if tonumber(row.keyLineAt) then Fifo.write_line(Lanes.name(name, Ranks.key_in(Ranks.of(id))), tonumber(row.keyLineAt), row.score, id) end
  Places.put_back(id, row.score, name)
  Places.touch(name, 'all')
  return IMPORTED
end

local function ended(id, row)
  local state, at = string.match(row.text or '', '^(%a+) (%d+) ')
  if state ~= 'dead' and state ~= 'delivered' and state ~= 'cancelled' then return refused('text is not that of a job that has ended') end
  if state ~= 'dead' and not is_time(row['until']) then return refused('until is not a number') end
  local result, name = write_new(KEPT, id, row.text), topic_of(id)
  if result ~= IMPORTED then return result end
  is_there[KEPT] = true
  call('ZADD', index_of(state, name), at, id)
  if state == 'dead' then
    call('ZADD', DEAD, at, id)
    Ended.touch_dead(name)
  else
    call('ZADD', KEPT_UNTIL, row['until'], id)
  end
  Names.add(name)
  return result
end

-- ---- rows ----

local KINDS = {limit = Imports.limit, topic = Imports.topic, key = Imports.key, group = Imports.group, schedule = Imports.schedule,
  idempotency = Imports.idempotency, send = Imports.send, workflow = workflow, workflowPart = workflow_part, job = job, ended = ended}

-- Returns the row at ARGV[at], and the index behind it. items: the members whose names begin with '.', without it.
local function read(at)
  local row, number = {items = {}}, tonumber(ARGV[at + 2])
  for i = at + 3, at + 2 + 2 * number, 2 do
    if string.byte(ARGV[i]) == 46 then
      row.items[#row.items + 1], row.items[#row.items + 2] = string.sub(ARGV[i], 2), ARGV[i + 1]
    else
      row[ARGV[i]] = ARGV[i + 1]
    end
  end
  return row, at + 3 + 2 * number
end

script('import', {}, {Ended, Events, Expiries, Fifo, Imports, Lanes, Names, Places, Ranks, Records, Schedules, Workflows}, function()
  local at = 3
  while at <= #ARGV do
    local number = tonumber(string.match(ARGV[at + 2] or '', '^%d+$'))
    if not number or at + 2 + 2 * number > #ARGV then error('wrong number of arguments') end
    at = at + 3 + 2 * number
  end
  probe()
  local max_jobs, first = tonumber(ARGV[2]), Schedules.first_fire()
  room = max_jobs > 0 and max_jobs - Expiries.jobs_below(max_jobs) or math.huge
  local replies = {now_us}
  at = 3
  while at <= #ARGV do
    local kind, name, row = KINDS[ARGV[at]], ARGV[at + 1], nil
    row, at = read(at)
    replies[#replies + 1] = kind and kind(name, row) or refused('this version does not know the kind')
  end
  Ended.finish()
  Places.finish()
  if Imports.earliest < first then publish('fire ' .. integer(Imports.earliest)) end
  return replies
end)
