-- kept.lua - jobs that have ended and can still be read.
-- uses: keys

local KEPT, KEPT_UNTIL = base .. 'kept', base .. 'kept_until' -- id -> see keep_job; id -> until when, ms

-- What keep_job has put there: state, time, losses, record, lines; nothing when there is none.
local function kept_job(id)
  local text = call('HGET', KEPT, id)
  if not text then return end
  local state, at, losses, size, start = string.match(text, '^(%a+) (%d+) (%d+) (%d+) ()')
  local lines = start + tonumber(size)
  return state, tonumber(at), tonumber(losses), string.sub(text, start, lines - 1), string.sub(text, lines)
end
