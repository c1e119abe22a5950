-- when.lua - computes when a new job is due, and completes its record.
-- uses: clock

-- Returns two times in ms: when a new job is due, and when it counts as created. when: a delay in ms, or '@' and a time
-- in ms.
local function due_of(when)
  if when == '0' then return now, now end -- due now; if soonest is 1 ms later, the job would need the carry worker
  if string.sub(when, 1, 1) ~= '@' then return soonest + tonumber(when), soonest end
  return math.max(now, tonumber(string.sub(when, 2))), now
end

-- Returns when a new job expires, ms, as a text, or nothing if it does not expire. Also returns the position of the rest
-- of the record. text: the record as the C code has written it, without its beginning, the opening brace and createdAt.
local function expiry_in(created, text)
  if string.byte(text, 11) == 48 then return end -- a zero at this place: the job does not expire
  local plus, number, rest = string.match(text, '^"head":"1 (%+?)(%d+)()')
  if plus then return plus == '' and number or integer(created + tonumber(number)), rest end
end

-- Returns whether a new job that is due at this time, ms, would have expired by then. C does not compare a
-- client's times with a clock, because Redis's clock decides.
local function is_over(created, text, at)
  local expires = expiry_in(created, text)
  return expires and tonumber(expires) <= at
end

-- Returns the record of a job that is created at this time, and when the job expires, for note_expiry (expiries.lua). text:
-- as in expiry_in. If the job has a ttl, the head (head.lua) gets the time at which the job expires, as C does in
-- job_record_complete.
local openings = {}
local function record_of(created, text)
  local opening = openings[created]
  if not opening then
    opening = '{"createdAt":' .. integer(created) .. ','
    openings[created] = opening
  end
  local expires, rest = expiry_in(created, text)
  if not expires then return opening .. text end
  return opening .. '"head":"1 ' .. expires .. string.sub(text, rest), expires
end
