-- check.lua - checks the form of all items before the first write.
-- uses: probe topic

local has_repeats = false -- an item may have the id of an earlier one

-- Refuses the call unless ARGV consists, from first on, of items of size arguments, each of which begins with
-- an id. If number is given, the argument at this position of each item must be a number, which may begin
-- with '@'.
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
