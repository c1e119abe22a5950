-- behind.lua - BEHIND, the set of topics that have due jobs but may not be served now, for example paused topics.
-- Topics that may be served are in the sorted set "turns".
-- uses: has

-- The topics that this call adds to BEHIND, and those that it removes. write_behind makes these changes.
local behind_added, behind_removed = {}, {}
-- rare: behind
local function note_behind(topic, is_behind)
  if is_behind then
    behind_added[#behind_added + 1] = '0'
    behind_added[#behind_added + 1] = topic
    is_there[BEHIND] = true
  else
    behind_removed[#behind_removed + 1] = topic
  end
end

-- rare: behind
local function write_behind()
  if #behind_removed > 0 then call('ZREM', BEHIND, unpack(behind_removed)) end
  if #behind_added > 0 then call('ZADD', BEHIND, unpack(behind_added)) end
  behind_added, behind_removed = {}, {}
end
