-- kept_keys.lua - keys of jobs that have ended and can still be read, see kept.lua.
-- uses: keys

local KEPT, KEPT_UNTIL = base .. 'kept', base .. 'kept_until' -- id -> see keep; id -> until when, ms: delivered, cancelled
local DEAD_DUE = base .. 'dead_due' -- topic -> see date_dead
local function index_of(state, topic) return base .. state .. ':' .. topic end -- id -> when it ended so, ms
