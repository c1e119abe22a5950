-- when.lua - computes when a new job is due, and how its record begins.
-- uses: clock

-- Returns when a new job is due, ms, and the time from which its delay counts. when is ms from now, or '@'
-- and a time.
local function due_of(when)
  if when == '0' then return now, now end -- at once: the time now, so the job is ready without a carry worker
  if string.sub(when, 1, 1) ~= '@' then return soonest + tonumber(when), soonest end
  return math.max(now, tonumber(string.sub(when, 2))), now
end

-- Returns the beginning of the record of a job that is created at this time. C has written the rest of the
-- record.
local openings = {}
local function opening_of(created)
  local opening = openings[created]
  if not opening then
    opening = '{"createdAt":' .. integer(created) .. ','
    openings[created] = opening
  end
  return opening
end
