-- waiting.lua - the number of waiting jobs, stored in addition to the buckets.
-- uses: keys

local NUMBERS = base .. 'numbers' -- waiting -> number of ids in all buckets; held -> see held.lua

-- The change of the number in this call. write_waiting adds it to the stored number at the end of the script.
local waiting_change = 0
local function write_waiting()
  if waiting_change ~= 0 then call('HINCRBY', NUMBERS, 'waiting', waiting_change) end
end
