-- record.lua - limits the bytes of records that a call reads.
-- uses: keys

-- Bytes of records that this call may still read. This limit keeps a call short. The first record is always read.
local record_bytes_left = 4 * 1024 * 1024
local function has_read_enough() return record_bytes_left <= 0 end

-- Allows the call to read one more record, even beyond its limit, because the current item must not stop half-way.
local function read_on() record_bytes_left = math.max(record_bytes_left, 1) end

-- Returns the record of a job, or nothing if this call has reached its limit of bytes.
local function answer_record(id)
  if has_read_enough() then return end
  local record = call('HGET', JOBS, id)
  record_bytes_left = record_bytes_left - #record
  return record
end
