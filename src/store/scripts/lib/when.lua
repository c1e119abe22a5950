-- when.lua - computes when a new job is due, and completes its record.
-- uses: clock expiries

-- Returns two times in ms: when a new job is due, and when it counts as created. when: a delay in ms, or '@' and a time
-- in ms.
local function due_of(when)
  if when == '0' then return now, now end -- due now; if soonest is 1 ms later, the job would need the carry worker
  if string.sub(when, 1, 1) ~= '@' then return soonest + tonumber(when), soonest end
  return math.max(now, tonumber(string.sub(when, 2))), now
end

-- Returns the record of a job that is created at this time. text: the record as the C code has written it, without its
-- beginning, the opening brace and createdAt. If the job has a ttl, the head (head.lua) gets the time at which the job
-- expires, as C does in job_record_complete. Notes this time in the index (expiries.lua).
local openings = {}
local ZERO = 48 -- at this place, if the job does not expire
local function record_of(id, created, text)
  local opening = openings[created]
  if not opening then
    opening = '{"createdAt":' .. integer(created) .. ','
    openings[created] = opening
  end
  if string.byte(text, 11) == ZERO then return opening .. text end
  local plus, number, rest = string.match(text, '^"head":"1 (%+?)(%d+)()')
  if not plus then return opening .. text end
  local expires = plus == '' and number or integer(created + tonumber(number))
  note_expiry(id, expires)
  return opening .. '"head":"1 ' .. expires .. string.sub(text, rest)
end
