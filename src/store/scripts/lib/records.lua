-- records.lua - records, the stored texts of jobs: reads them, and completes those of new jobs.

local Records = {uses = {}}

-- ---- bytes that a call reads ----

-- The bytes that one call may read are limited, so that it is short. Records.bytes_left has those that it may still
-- read. The first record is always read, however long it is.
local BYTES_MAX = 4194304

function Records.has_read_enough() return Records.bytes_left <= 0 end

-- Allows the call to read one more record, even beyond its limit. Used where a script must not stop in the middle of an
-- item.
function Records.read_on() Records.bytes_left = math.max(Records.bytes_left, 1) end

-- Returns the record with one more member. value: as in JSON; nothing: the record stays as it is. The body, if the record has one,
-- stays where it is.
function Records.with(record, name, value)
  if not value or string.sub(record, -1) ~= '}' then return record end
  return string.sub(record, 1, -2) .. ',"' .. name .. '":' .. value .. '}'
end

-- Returns the record of a cancelled job with the reason why it ended.
function Records.with_reason(record, reason) return Records.with(record, 'reason', reason and '"' .. reason .. '"') end

-- Returns the record of a job, or nothing if this call has reached its limit of bytes.
function Records.read(id)
  if Records.has_read_enough() then return end
  local record = call('HGET', JOBS, id)
  Records.bytes_left = Records.bytes_left - #record
  return record
end

-- ---- reading a record ----

-- Scripts read the head of a record instead of its JSON. A record begins with the time at which the job was created and with the head:
-- {"createdAt":<ms>,"head":"<version> <expires> <first> <priority> <flags> <size> <key>", and then the other members.
--   expires         when the job expires, ms; 0: never. For a new job, C writes '+' and a time from the creation, which
--                   Records.complete replaces
--   first           0
--   priority        0; with the flag k: the priority of the job, a digit
--   flags           '-', or letters, k before all others: the job has a key or another priority than 5 (ranks.lua),
--                   u the url is empty, c it has callbacks onDelivered or onAttempt, l it has labels,
--                   a it has lastAttempt
--   size            bytes from the first one of key to the last one before the body, which is the last member
--   key             as in JSON; empty without the flag k
-- The C code writes the head anew with each change of the job (job_members.c). A version before 0.3 knows no heads: it
-- writes no head, or carries the old one as an unknown member to a place behind the other members. So a head counts only
-- if it is the second member. Without it, the record is an old one, and is decoded.

-- Returns expiry, flags and size of a record's head, and the position from which size counts, all as texts. Returns
-- nothing if the record is an old one.
function Records.head(record)
  return string.match(record, '^{"createdAt":%d+,"head":"1 (%d+) %d+ %d+ (%S+) (%d+) ()')
end

-- Returns the time at which the job with this record was created, ms. All versions begin records with this member.
function Records.created(record) return tonumber(string.match(record, '^{"createdAt":(%d+)')) end

-- Returns a record without its body, as a JSON text. Returns an old record unchanged. end_text: what replaces the body
-- and the closing brace.
function Records.cut_body(record, end_text)
  local _, _, size, at = Records.head(record)
  return size and string.sub(record, 1, at + size - 1) .. end_text or record
end

-- Returns whether a record's head has this flag. Returns true for an old record.
function Records.may_have(record, flag)
  local _, flags = Records.head(record)
  return not flags or string.find(flags, flag, 1, true) ~= nil
end

-- Returns the members of a record without its body, or nothing if it is not a JSON object.
function Records.members(record)
  local is_sound, job = pcall(cjson.decode, Records.cut_body(record, '}'))
  return is_sound and type(job) == 'table' and job or nil
end

-- Returns the number of days from 1970-01-01 to a date.
local DAY_MS = 86400000
local function days_of(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  return 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
    + math.floor((153 * (month - 3) + 2) / 5) + day - 719469
end

-- Returns the expiry of an old record. A long record is not decoded, because this takes long; then the result is
-- math.huge, and the C code finds out that the job has expired when it reads the record.
local OLD_BYTES_MAX = 65536
local function old_expiry(record)
  local job = #record <= OLD_BYTES_MAX and Records.members(record)
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
function Records.expiry(record)
  local expires = Records.head(record)
  if not expires then return old_expiry(record) end
  return expires == '0' and math.huge or tonumber(expires)
end

-- Returns whether the job with this record has expired at the given time; without a time, whether it has expired now.
function Records.is_expired(record, time) return (time or now) >= Records.expiry(record) end

-- ---- new jobs ----

-- Returns two times in ms: when a new job is due, and when it counts as created. when: a delay in ms, or '@' and a time
-- in ms.
function Records.due_of(when)
  if when == '0' then return now, now end -- due now; if soonest is 1 ms later, the job would need the carry worker
  if string.sub(when, 1, 1) ~= '@' then return soonest + tonumber(when), soonest end
  return math.max(now, tonumber(string.sub(when, 2))), now
end

-- Returns when a new job expires, ms, as a text, or nothing if it does not expire. Also returns the position of the
-- rest of the record. text: the record as the C code has written it, without its beginning, the opening brace and
-- createdAt.
function Records.expiry_in(created, text)
  if string.byte(text, 11) == 48 then return end -- a zero at this place: the job does not expire
  local plus, number, rest = string.match(text, '^"head":"1 (%+?)(%d+)()')
  if plus then return plus == '' and number or integer(created + tonumber(number)), rest end
end

-- Returns whether a new job that is due at this time, ms, would have expired by then. C does not compare a client's
-- times with a clock, because Redis's clock decides.
function Records.would_expire(created, text, at)
  local expires = Records.expiry_in(created, text)
  return expires and tonumber(expires) <= at
end

-- Returns the record of a job that is created at this time, and when the job expires, for Expiries.note. text: as in
-- Records.expiry_in. If the job has a ttl, the head gets the time at which the job expires, as C does in
-- job_record_complete.
local openings = {}
function Records.complete(created, text)
  local opening = openings[created]
  if not opening then
    opening = '{"createdAt":' .. integer(created) .. ','
    openings[created] = opening
  end
  local expires, rest = Records.expiry_in(created, text)
  if not expires then return opening .. text end
  return opening .. '"head":"1 ' .. expires .. string.sub(text, rest), expires
end

-- ---- jobs without a url ----

-- Returns whether jobs of the topic need no url of their own.
function Records.needs_no_url(topic) return settings_of(topic).url or is_pull(topic) end

-- Returns whether neither the job nor its topic has a url, although the job needs one. record: a record, or that of a
-- new job, which still lacks its beginning.
function Records.lacks_url(id, record)
  local flags = string.match(record, '^"head":"1 %S+ %d+ %d+ (%S+)') or select(2, Records.head(record))
  if flags and not string.find(flags, 'u', 1, true) then return false end
  if not flags then
    local job = Records.members(string.byte(record) == 123 and record or '{' .. record)
    if not job or job.url ~= '' then return false end
  end
  return not Records.needs_no_url(topic_of(id))
end

function Records.begin()
  Records.bytes_left = BYTES_MAX
  if next(openings) then openings = {} end
end

return Records
