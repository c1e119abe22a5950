-- check.lua - checks the arguments of a script before its first write. Most scripts take a list of items (jobs and what
-- to do with each), a fixed number of arguments each.
-- uses: probe topic

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

local function check(first, size, number)
  check_items(first, size, number)
  probe()
end

-- The same for scripts that end the attempts of their caller, which a newer data format does not stop.
local function check_ends(first, size, number)
  check_items(first, size, number)
  probe_keys()
end
