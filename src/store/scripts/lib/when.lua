-- when.lua - computes when a new job is due, and completes its record.
-- uses: clock

-- Returns two times in ms: when a new job is due, and when it counts as created. when: a delay in ms, or '@' and a time
-- in ms.
local function due_of(when)
  if when == '0' then return now, now end -- due now; if soonest is 1 ms later, the job would need the carry worker
  if string.sub(when, 1, 1) ~= '@' then return soonest + tonumber(when), soonest end
  return math.max(now, tonumber(string.sub(when, 2))), now
end

-- Returns the record of a job that is created at this time. text: the record as the C code has written it, without its
-- beginning, the opening brace and createdAt. If the job has a ttl, the head (head.lua) gets the time at which the job
-- expires. C repeats this in job_record_complete.
local openings = {}
local PLUS = 43 -- at this place, if the head has '+' and a ttl
local function record_of(created, text)
  local opening = openings[created]
  if not opening then
    opening = '{"createdAt":' .. integer(created) .. ','
    openings[created] = opening
  end
  local ttl, rest
  if string.byte(text, 11) == PLUS then ttl, rest = string.match(text, '^"head":"1 %+(%d+)()') end
  if not ttl then return opening .. text end
  return opening .. '"head":"1 ' .. integer(created + tonumber(ttl)) .. string.sub(text, rest)
end
