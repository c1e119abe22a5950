-- behind.lua - topics with due jobs that may not be served now, by name. Those that may be stand in turns.
-- uses: has

local BEHIND = base .. 'behind'

local function note_behind(topic, is_behind)
  if is_behind then
    call('ZADD', BEHIND, 0, topic)
    is_there[BEHIND] = true
  elseif has(BEHIND) then
    call('ZREM', BEHIND, topic)
  end
end
