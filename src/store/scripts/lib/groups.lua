-- groups.lua - keys with groups (named lists of endpoints). The name of a group decides in which shard it is.
-- uses: keys

local GROUPS = base .. 'groups' -- name -> text, see group.h
local GROUP_NAMES = base .. 'group_names' -- the names in alphabetical order, to list them page by page; all scores are 0
