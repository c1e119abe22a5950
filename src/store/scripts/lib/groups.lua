-- groups.lua - keys of groups, which are in the shard of the group's name.
-- uses: keys

local GROUPS = base .. 'groups' -- name -> text, see group.h
local GROUP_NAMES = base .. 'group_names' -- names in order, for pages; all scores are 0
