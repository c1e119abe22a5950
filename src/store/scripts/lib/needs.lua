-- needs.lua - what the settings of a topic ask of the process that serves it.

-- The names that this version knows, from CMakeLists.txt, as job/carried.c has them.
local KNOWN_NEEDS = ' @KNOWN_NEEDS@ '

local function knows_all(names)
  for _, name in ipairs(names) do
    if not string.find(KNOWN_NEEDS, ' ' .. tostring(name) .. ' ', 1, true) then return false end
  end
  return true
end
