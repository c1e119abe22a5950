-- due.lua - due times in buckets.
-- uses: clock

-- A job's score in its bucket is its due time in ms and a fraction. The fraction keeps jobs of the same ms in
-- the order of their arrival. A job is due when the clock has reached the whole ms of its score.
local DUE_NOW = '(' .. integer(now + 1) -- as a bound of scores
local function is_due(score) return tonumber(score) < now + 1 end
local function ms_of(score) return math.floor(tonumber(score)) end
