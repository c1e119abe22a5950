-- late.lua - handles deliveries that are reported after their lease was lost.
-- uses: hour take

-- Removes the id of such a job from the leases or from the waiting jobs, and counts the job as delivered.
-- rare: late
local function take_late(id)
  take(id)
  count(topic_of(id), 'd', 1)
end
