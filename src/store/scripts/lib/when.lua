-- when.lua - when a new job is due, and how its record begins.
-- uses: clock

-- When a job is due that comes now, as number and text, and the time from which that counts. when: ms from now, or
-- '@' and a time. Lua is slow at making text of a number, so that is done once a call where it can be.
local now_text
local function due_of(when)
  if when == '0' then -- at once, and ready: that needs no carry worker
    now_text = now_text or integer(now)
    return now, now_text, now
  end
  if string.sub(when, 1, 1) ~= '@' then
    local at = soonest + tonumber(when)
    return at, integer(at), soonest
  end
  local text = string.sub(when, 2)
  local at = tonumber(text)
  if at < now then return now, integer(now), now end
  return at, text, now
end

-- How the record of a job begins that is created then; what follows, C writes.
local openings = {}
local function opening_of(created)
  local opening = openings[created]
  if not opening then
    opening = '{"createdAt":' .. integer(created) .. ','
    openings[created] = opening
  end
  return opening
end
