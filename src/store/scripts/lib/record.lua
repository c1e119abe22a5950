-- record.lua - limits the bytes that one call of a script reads. A record is the stored text of a job.
-- uses: keys

-- Bytes that this call may still read; the limit keeps the call short. The first record is always read, however long it
-- is.
local record_bytes_left = 4 * 1024 * 1024
local function has_read_enough() return record_bytes_left <= 0 end

-- Allows the call to read one more record, even beyond its limit. Used where a script must not stop in the middle of an
-- item.
local function read_on() record_bytes_left = math.max(record_bytes_left, 1) end

-- Returns the record of a cancelled job with the reason why it ended. The body, if the record has one, stays where it is.
local function with_reason(record, reason)
  if not reason or string.sub(record, -1) ~= '}' then return record end
  return string.sub(record, 1, -2) .. ',"reason":"' .. reason .. '"}'
end

-- Returns the record of a job, or nothing if this call has reached its limit of bytes.
local function answer_record(id)
  if has_read_enough() then return end
  local record = call('HGET', JOBS, id)
  record_bytes_left = record_bytes_left - #record
  return record
end
