-- order.lua - compares names and ids in the order that Redis uses.

-- Returns whether a is before b. Redis compares ids and names by bytes, but the operator < of Lua compares by the
-- locale that Redis was started in. Names often begin alike, so the function skips equal bytes at the beginning,
-- several at a time.
local byte, sub = string.byte, string.sub
local function precedes(a, b)
  local from, shorter = 1, math.min(#a, #b)
  while from + 15 <= shorter and sub(a, from, from + 15) == sub(b, from, from + 15) do from = from + 16 end
  while from + 3 <= shorter and sub(a, from, from + 3) == sub(b, from, from + 3) do from = from + 4 end
  for i = from, shorter do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
