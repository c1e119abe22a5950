-- expiry.lua - checks whether jobs have expired.
-- uses: clock

local DAY_MS = 86400000

-- Returns the number of days from 1970-01-01 to a date.
local function days_of(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  return 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
    + math.floor((153 * (month - 3) + 2) / 5) + day - 719469
end

-- Returns whether the job with this record has expired at the given time; without a time, whether it has expired now.
-- Reads only records in the form in which job_record.c writes them, and ignores the body. Returns false for a record in
-- another form; the C code checks the expiry of such a job later.
-- rare: expiry
local function is_expired(record, time)
  local match = string.match
  local created, at, following = match(record, '^{"createdAt":(%d+),"url":"[^"\\]*"(),?"?(%a*)')
  if not created or following == 'body' then return false end -- no ttl or expiresAt follows a body
  at = match(record, '^,"method":"%u+"()', at) or at
  at = match(record, '^,"delay":[%d.]+()', at) or at
  at = match(record, '^,"dueAt":"[^"]*"()', at) or at
  local ttl, behind = match(record, '^,"ttl":([%d.]+)()', at)
  ttl = tonumber(ttl or '')
  if ttl and (time or now) >= tonumber(created) + math.floor(ttl * 1000 + 0.5) then return true end
  local year, month, day, hour, minute, ms =
    match(record, '^,"expiresAt":"(%d+)%-(%d+)%-(%d+)T(%d+):(%d+):(%d+%.%d+)Z"', behind or at)
  if not year then return false end
  local of_day = ((tonumber(hour) * 60) + tonumber(minute)) * 60000 + math.floor(tonumber(ms) * 1000 + 0.5)
  return (time or now) >= days_of(tonumber(year), tonumber(month), tonumber(day)) * DAY_MS + of_day
end
