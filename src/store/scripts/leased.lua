#!lua flags=no-writes
-- leased.lua - ids of leased jobs, in no order: a step of a walk that comes by each job that stays leased, maybe twice.
--
-- ARGV[2] topic, may be empty for all   [3] only ids behind this one, may be empty
-- ARGV[4] where the step begins: 0, or what the step before returned   [5] the most leases to look at, but for some more
-- Returns {now_us, where the next step begins or '0' at the end, id ...}.
-- uses: clock order topic
local topic, behind, at, look = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local STEP = 500
local replies = {now_us, at}
repeat
  local step = call('ZSCAN', LEASES, at, 'COUNT', STEP)
  at, look = step[1], look - STEP
  for i = 1, #step[2], 2 do
    local id = step[2][i]
    if (topic == '' or topic_of(id) == topic) and (behind == '' or precedes(behind, id)) then replies[#replies + 1] = id end
  end
until at == '0' or look <= 0
replies[2] = at
return replies
