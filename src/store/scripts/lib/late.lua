-- late.lua - ends jobs whose lease was lost.
-- uses: hour take

-- Takes a job from its place, where it waits for its next attempt: its lease was lost, but its delivery was reported
-- after that.
-- rare: late
local function take_late(id)
  take(id)
  count(topic_of(id), 'd', 1)
end
