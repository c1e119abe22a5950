-- forget_lost.lua - removes the counts and attempts of a job whose record is missing in Redis.
-- uses: attempts crashes

-- rare: forget_lost
local function forget_lost(id)
  forget_crashes(id)
  forget_attempts({id})
end
