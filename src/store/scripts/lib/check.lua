-- check.lua - checks the shape of all items before anything.
-- uses: probe topic

-- Refuses the call when its items, each size arguments long, from ARGV[first]
-- on, are not of that shape. number: where in the item a number stands, perhaps behind an '@'.
local function check_items(first, size, number)
  if (#ARGV - first + 1) % size ~= 0 then error('wrong number of arguments') end
  for i = first, #ARGV, size do
    local topic = string.match(ARGV[i], '^([^/]+)/.')
    if not topic then error('not an id') end
    topics_of[ARGV[i]] = topic
    if number and not string.match(ARGV[i + number - 1], '^@?-?%d+$') then error('not a number') end
  end
end

local function check(first, size, number)
  check_items(first, size, number)
  probe()
end
