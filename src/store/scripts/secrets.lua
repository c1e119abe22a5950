-- secrets.lua - returns a page of the texts that may be encrypted, for duepost rekey.
--
-- ARGV[2] name of a hash in HASHES, 'workflows', or the place of a workflow (it has two slashes)   [3] cursor: '0', or as
-- returned   [4] about how many texts
-- Returns {now_us, next cursor or '' at the end, then key, field, text of each entry}. The key has no prefix. The field of a
-- list is an index from 0. For 'workflows', the entries have the key 'workflows', the place of a workflow, and ''.

local HASHES = {jobs = true, attempts = true, progress = true, kept = true, topics = true, patterns = true, groups = true,
  schedules = true, waits = true}
local FIELDS = {'settings', 'result', 'ifFailed', 'ifCancelled'}

local reply

local function add(key, field, text)
  if not text or text == '' then return end
  for _, word in ipairs({key, field, text}) do reply[#reply + 1] = word end
end

local function add_hash(name, cursor, count)
  local page = call('HSCAN', base .. name, cursor, 'COUNT', count)
  for i = 1, #page[2], 2 do add(name, page[2][i], page[2][i + 1]) end
  reply[2] = page[1] ~= '0' and page[1] or ''
end

local function add_workflows(cursor, count)
  local page = call('ZSCAN', WORKFLOW_TIMES, cursor, 'COUNT', count)
  for i = 1, #page[2], 2 do
    for _, word in ipairs({'workflows', page[2][i], ''}) do reply[#reply + 1] = word end
  end
  reply[2] = page[1] ~= '0' and page[1] or ''
end

local function add_list(key, first, last)
  local texts = call('LRANGE', base .. key, first, last)
  for i = 1, #texts do add(key, integer(first + i - 1), texts[i]) end
  return #texts
end

-- The hash and the events come with the first elements. The events of a workflow have at most 4 MiB.
local function add_workflow(place, first, count)
  if first == 0 then
    for _, field in ipairs(FIELDS) do add('workflow:' .. place, field, call('HGET', Workflows.key(place), field)) end
    for _, event in ipairs(Events.names(place)) do add_list('events:' .. place .. '/' .. event, 0, -1) end
  end
  local found = add_list('elements:' .. place, first, first + count - 1)
  reply[2] = found == count and integer(first + count) or ''
end

script('secrets', {'no-writes'}, {Events, Workflows}, function()
  local what, cursor, count = ARGV[2], ARGV[3], tonumber(ARGV[4])
  if not string.match(cursor, '^%d+$') or not count or count < 1 then error('not a number') end
  reply = {now_us, ''}
  if HASHES[what] then
    add_hash(what, cursor, count)
  elseif what == 'workflows' then
    add_workflows(cursor, count)
  elseif string.match(what, '^[^/~]+/[^/]+/%d+$') then
    add_workflow(what, tonumber(cursor), count)
  else
    error('not a place')
  end
  return reply
end)
