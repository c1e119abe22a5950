-- needs.lua - checks what the settings of a topic require from the process that serves the topic.

-- KNOWN_NEEDS has the requirements that this version supports. CMakeLists.txt fills them in, here and in
-- job/carried.c.
local KNOWN_NEEDS = ' @KNOWN_NEEDS@ '

local function knows_all(names)
  for _, name in ipairs(names) do
    if not string.find(KNOWN_NEEDS, ' ' .. tostring(name) .. ' ', 1, true) then return false end
  end
  return true
end
