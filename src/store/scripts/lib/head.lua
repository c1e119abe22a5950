-- head.lua - the head of a record, which scripts read instead of the record's JSON.
--
-- A record is the stored text of a job. It begins with the time at which the job was created and with the head:
-- {"createdAt":<ms>,"head":"<version> <expires> <first> <priority> <flags> <size> <key>", and then the other members.
--   expires         when the job expires, ms; 0: never. For a new job, C writes '+' and a time from the creation, which
--                   record_of (when.lua) replaces
--   first priority  0
--   flags           '-', or letters: u the url is empty, c it has callbacks onDelivered or onAttempt, l it has labels,
--                   a it has lastAttempt
--   size            bytes from the first one of key to the last one before the body, which is the last member
--   key             empty
-- The C code writes the head anew with each change of the job (job_members.c). A version before 0.3 knows no heads: it
-- writes no head, or carries the old one as an unknown member to a place behind the other members. So a head counts only
-- if it is the second member. Without it, the record is an old one, and is decoded.
-- uses: clock

-- Returns expiry, flags and size of a record's head, and the position from which size counts, all as texts. Returns
-- nothing if the record is an old one.
local function head_of(record)
  return string.match(record, '^{"createdAt":%d+,"head":"1 (%d+) %d+ %d+ (%S+) (%d+) ()')
end

-- Returns the time at which the job with this record was created, ms. All versions begin records with this member.
local function created_of(record) return tonumber(string.match(record, '^{"createdAt":(%d+)')) end

-- Returns a record without its body, as a JSON text. Returns an old record unchanged. end_text: what replaces the body
-- and the closing brace.
local function cut_body(record, end_text)
  local _, _, size, at = head_of(record)
  return size and string.sub(record, 1, at + size - 1) .. end_text or record
end

-- Returns whether a record's head has this flag. Returns true for an old record.
local function may_have(record, flag)
  local _, flags = head_of(record)
  return not flags or string.find(flags, flag, 1, true) ~= nil
end

-- Returns the members of a record without its body, or nothing if it is not a JSON object.
-- rare: decode
local function members_of(record)
  local is_sound, job = pcall(cjson.decode, cut_body(record, '}'))
  return is_sound and type(job) == 'table' and job or nil
end

-- Returns the number of days from 1970-01-01 to a date.
local DAY_MS = 86400000
-- rare: decode
local function days_of(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  return 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
    + math.floor((153 * (month - 3) + 2) / 5) + day - 719469
end

-- Returns the expiry of an old record. A long record is not decoded, because this takes long; then the result is
-- math.huge, and the C code finds out that the job has expired when it reads the record.
local OLD_BYTES_MAX = 65536
-- rare: decode
local function old_expiry(record)
  local job = #record <= OLD_BYTES_MAX and members_of(record)
  if not job then return math.huge end
  local year, month, day, hour, minute, second =
    string.match(tostring(job.expiresAt), '^(%d+)%-(%d+)%-(%d+)T(%d+):(%d+):([%d.]+)Z$')
  if year then
    local minutes = (days_of(tonumber(year), tonumber(month), tonumber(day)) * 24 + tonumber(hour)) * 60 + tonumber(minute)
    return minutes * 60000 + math.floor(tonumber(second) * 1000 + 0.5)
  end
  local created, ttl = tonumber(job.createdAt), tonumber(job.ttl)
  return created and ttl and created + math.floor(ttl * 1000 + 0.5) or math.huge
end

-- Returns when the job with this record expires, ms; math.huge: never.
local function expiry_of(record)
  local expires = head_of(record)
  if not expires then return old_expiry(record) end
  return expires == '0' and math.huge or tonumber(expires)
end

-- Returns whether the job with this record has expired at the given time; without a time, whether it has expired now.
local function is_expired(record, time) return (time or now) >= expiry_of(record) end
