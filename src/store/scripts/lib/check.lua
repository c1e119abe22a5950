-- check.lua - checks before the first write of a script: the arguments, the slot of the keys, and the data format.

-- ---- format of the data ----

-- The number of the data format grows when earlier versions of duepost cannot use the data any more. A process does not
-- start with data of a newer format than it supports. A process that is running when the format grows starts nothing
-- new: its scripts that write fail, except those that end its own attempts.

local FORMAT = {PULL = 4, LIMITS = 5, QUOTAS = 5, LANES = 6, MAX = 6} -- see STORE_FORMAT_PULL and the others in store.h
local function raise_format(format)
  if format > (tonumber(call('HGET', META, 'format')) or 0) then call('HSET', META, 'format', format) end
end

-- Ends the script with an error if a later version of duepost has raised the format.
local function refuse_newer_format()
  local format = call('HGET', META, 'format')
  if format and tonumber(format) > FORMAT.MAX then
    error({err = 'NEWER format ' .. format .. ' of the data, this duepost supports ' .. FORMAT.MAX})
  end
end

-- ---- slot and format ----

-- A script stops before its first write if Redis Cluster is just moving its keys (a slot) to another node, or if the
-- data has a newer format than this version supports.
--
-- Every script that writes begins with probe(), or with probe_slot() and refuse_newer_format(). Scripts that end the
-- attempts of their caller, or renew their leases, do not check the format: they use probe_slot() or probe_keys().
--
-- While a slot is being moved, a script can use the keys that are still on this node. The script fails at the first key
-- that does not exist on this node. So it could fail between two writes, for example at a key that the script itself
-- has just deleted. The check therefore reads a key that never exists: if the slot is being moved, this read fails,
-- before the script has written anything.
local function probe_slot()
  call('EXISTS', base .. 'never')
  has_lanes = has(LANES)
end

-- The same check for scripts that use many of the rare keys (keys.lua), most of which often do not exist. This one
-- query also checks all these keys. If none of them exists, has() need not query each of them.
local function probe_keys()
  has_rare_keys = call('EXISTS', unpack(RARE_KEYS)) > 0
  has_lanes = has_rare_keys and has(LANES)
end

local function probe()
  probe_keys()
  refuse_newer_format()
end

-- ---- arguments ----

-- Most scripts take a list of items (jobs and what to do with each), a fixed number of arguments each.

local has_repeats = false -- whether two items may have the same id

-- Ends the script with an error if ARGV, beginning at ARGV[first], is not a list of items. Each item must have size
-- arguments, and the first of them must be an id. number: if given, the argument at this position in each item (1: the
-- id) must be a number; it may begin with '@'.
local function check_items(first, size, number)
  if (#ARGV - first + 1) % size ~= 0 then error('wrong number of arguments') end
  for i = first, #ARGV, size do
    local id = ARGV[i]
    local topic = string.match(id, '^([^/]+)/.')
    if not topic then error('not an id') end
    if topics_of[id] then has_repeats = true end
    topics_of[id] = topic
    if number and not string.match(ARGV[i + number - 1], '^@?-?%d+$') then error('not a number') end
  end
end

-- Returns the topics of the items that check_items has checked.
local function topics_checked()
  local topics, is_known = {}, {}
  for _, topic in pairs(topics_of) do
    if not is_known[topic] then topics[#topics + 1] = topic end
    is_known[topic] = true
  end
  return topics
end

local function check(first, size, number)
  check_items(first, size, number)
  probe()
end

-- The same for scripts that end the attempts of their caller, which a newer data format does not stop.
local function check_ends(first, size, number)
  check_items(first, size, number)
  probe_keys()
end

local function begin_check()
  has_repeats = false
end
