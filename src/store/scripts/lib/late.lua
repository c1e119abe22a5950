-- late.lua - ends jobs whose lease was lost.
-- uses: hour take

-- Removes a job from its place, because its delivery was reported after its lease was lost. The job was waiting for its
-- next attempt.
-- rare: late
local function take_late(id)
  take(id)
  count(topic_of(id), 'd', 1)
end
