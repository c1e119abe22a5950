-- needs.lua - what the settings of a topic ask of the process that serves it.
-- uses: settings

-- The names that this version knows, from CMakeLists.txt, as job/needs.c has them.
local KNOWN_NEEDS = ' @KNOWN_NEEDS@ '

-- Whether this process knows all that the topic's settings need. Another version may: the topic keeps its turn.
local function knows_needs(topic)
  for _, name in ipairs(settings_of(topic).needs or {}) do
    if not string.find(KNOWN_NEEDS, ' ' .. tostring(name) .. ' ', 1, true) then return false end
  end
  return true
end
