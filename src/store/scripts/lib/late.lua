-- late.lua - ends jobs whose lease was lost.
-- uses: hour take

-- Takes a job whose delivery is reported after its lease was lost from the place where it waits for its next
-- attempt.
-- rare: late
local function take_late(id)
  take(id)
  count(topic_of(id), 'd', 1)
end
