-- chores.lua - finds out which calls of the carry lock's owner have work to do, so that an idle Redis runs few scripts.

local Chores = {uses = {}}

function Chores.has_turns() return call('EXISTS', TURNS) == 1 end

-- Returns a letter for each of these calls that has, or may have, work to do: e for expire.lua, within the second until
-- the next query, s for sweep.lua, o for reoffer.lua, a for archive.lua.
local EXPIRY_MS = 1000
function Chores.to_do()
  local walks = call('HMGET', META, 'redate', 'reoffer', 'reoffer_lines', 'resume_held', 'leap')
  local sweeps = walks[1] or call('EXISTS', KEPT_UNTIL, DEAD_DUE, DEAD, RATES) > 0
  local offers = walks[2] or walks[3] or walks[4] or walks[5] or call('EXISTS', RESUMING) == 1
  local archives = call('EXISTS', ENDED, ENDED_IDS, ENDED_READ) > 0
  local expiry = has(EXPIRIES) and call('ZRANGE', EXPIRIES, '0', '0', 'WITHSCORES')[2]
  local expires = expiry and tonumber(expiry) <= now + EXPIRY_MS
  return (expires and 'e' or '') .. (sweeps and 's' or '') .. (offers and 'o' or '') .. (archives and 'a' or '')
end

return Chores
