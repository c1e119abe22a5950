-- waiting.lua - the number of waiting jobs of all topics. It is stored, because adding up the buckets of all topics
-- would take long.
-- uses: keys

-- 'waiting' -> number of ids in all buckets; 'held' -> number of held jobs, see held.lua; and others
local NUMBERS = base .. 'numbers'

-- By how much this call has changed the number. write_waiting adds this to the stored number at the end of the script.
local waiting_change = 0
local function write_waiting()
  if waiting_change ~= 0 then call('HINCRBY', NUMBERS, 'waiting', waiting_change) end
end
