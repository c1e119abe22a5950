-- needs.lua - checks whether this version supports all features that the settings of a topic use. The settings list
-- these features by name in their member needs.

-- KNOWN_NEEDS lists the features that this version supports. CMakeLists.txt fills the list in, here and in
-- job/unknown_members.c.
local KNOWN_NEEDS = ' @KNOWN_NEEDS@ '

local function knows_all(names)
  for _, name in ipairs(names) do
    if not string.find(KNOWN_NEEDS, ' ' .. tostring(name) .. ' ', 1, true) then return false end
  end
  return true
end
