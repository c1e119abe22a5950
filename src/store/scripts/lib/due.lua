-- due.lua - due times in buckets.
-- uses: clock

-- A job's score in its bucket is its due time, ms, and a fraction that keeps jobs of one ms in the order of arrival. It is
-- due when the clock has reached its ms.
local DUE_NOW = '(' .. integer(now + 1) -- as a bound of scores
local function is_due(score) return tonumber(score) < now + 1 end
local function ms_of(score) return math.floor(tonumber(score)) end
