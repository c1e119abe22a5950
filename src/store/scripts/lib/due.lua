-- due.lua - due times in buckets. A bucket is the sorted set of a topic's waiting jobs.
-- uses: clock

-- A job's score in its bucket is its due time in ms and a fraction. The fraction keeps jobs of the same ms in
-- the order of their arrival. A job is due when the clock has reached the whole ms of its score.
local DUE_BEFORE = now + 1
local DUE_NOW = '(' .. integer(DUE_BEFORE) -- the scores of due jobs are below this bound
local function is_due(score) return tonumber(score) < DUE_BEFORE end
local function ms_of(score) return math.floor(tonumber(score)) end
