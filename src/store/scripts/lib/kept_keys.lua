-- kept_keys.lua - keys of jobs that have ended and can still be read, see kept.lua.
-- uses: has

local KEPT_UNTIL = base .. 'kept_until' -- id of a delivered or cancelled job -> until when it is kept, ms
local DEAD_DUE = base .. 'dead_due' -- topic -> when its oldest dead job is removed, see date_dead
local function index_of(state, topic) return base .. state .. ':' .. topic end -- id -> when the job got this state, ms
