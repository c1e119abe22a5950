-- forget_lost.lua - removes the remaining data of a job whose record is lost.
-- uses: attempts crashes

-- rare: forget_lost
local function forget_lost(id)
  forget_crashes(id)
  forget_attempts({id})
end
