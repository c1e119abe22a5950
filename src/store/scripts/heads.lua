-- heads.lua - finds, in each of many topics, the first waiting or dead job that comes after a given job. A call is
-- one step of a walk through all topics.
--
-- ARGV[2] delayed, ready or dead   [3] only topics with names after this one are examined; may be empty   [4] maximum
--      number of topics to examine
-- ARGV[5] [6] score and id of a job, or two empty texts   [7] [8] [9] as ARGV[9], [10] and [13] of list.lua
-- ARGV[10] 'oldest' or 'newest' first   [11] 'heads', or 'count' to count the topics' jobs instead
-- ARGV[12] only this topic and its siblings; may be empty
-- Returns {now_us, the last name examined or '' at the end, number of jobs counted, then score, id of each
-- first job}.

local behind, most, owner

-- Returns the next names to examine. All siblings of a topic owner begin with owner~, so they are between 'owner~' and
-- 'owner\127'.
local function next_names()
  if owner == '' then return call('ZRANGE', NAMES, behind == '' and '-' or '(' .. behind, '+', 'BYLEX', 'LIMIT', 0, most) end
  local from = (behind == '' or behind == owner) and '[' .. owner .. '~' or '(' .. behind
  local names = behind == '' and {owner} or {}
  local siblings = call('ZRANGE', NAMES, from, '(' .. owner .. '\127', 'BYLEX', 'LIMIT', 0, most - #names)
  for i = 1, #siblings do names[#names + 1] = siblings[i] end
  return names
end

script('heads', {'no-writes'}, {Lists}, function()
  local state = ARGV[2]
  behind = ARGV[3]
  most = tonumber(ARGV[4])
  owner = ARGV[12] or ''
  local low, high = Lists.bounds_of(state, ARGV[7], ARGV[8], tonumber(ARGV[9]))
  local is_newest_first = ARGV[10] == 'newest'
  local names = next_names()
  local replies, counted = {now_us, '', 0}, 0
  for i = 1, #names do
    if ARGV[11] == 'count' then
      counted = counted + call('ZCOUNT', Lists.key(state, names[i]), Lists.from_text(low), Lists.below_text(high))
    else
      local head = Lists.entries_behind(state, names[i], low, high, ARGV[5], ARGV[6], 1, is_newest_first)
      if head[1] then
        replies[#replies + 1] = head[2]
        replies[#replies + 1] = head[1]
      end
    end
  end
  replies[2] = #names == most and names[most] or ''
  replies[3] = counted
  return replies
end)
