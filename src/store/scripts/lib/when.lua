-- when.lua - computes when a new job is due, and how its record begins.
-- uses: clock

-- Returns two times in ms: when a new job is due, and when it counts as created. when: a delay in ms, or '@' and a time
-- in ms.
local function due_of(when)
  if when == '0' then return now, now end -- due now; if soonest is 1 ms later, the job would need the carry worker
  if string.sub(when, 1, 1) ~= '@' then return soonest + tonumber(when), soonest end
  return math.max(now, tonumber(string.sub(when, 2))), now
end

-- Returns the beginning of the record of a job that is created at this time. The caller appends the rest, which the C
-- code has written.
local openings = {}
local function opening_of(created)
  local opening = openings[created]
  if not opening then
    opening = '{"createdAt":' .. integer(created) .. ','
    openings[created] = opening
  end
  return opening
end
