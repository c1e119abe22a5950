-- archive.lua - turns the history on or off, and reads the next texts from the outbox: the data of jobs that have ended
-- and are not in the history yet (lib/outbox.lua).
--
-- ARGV[2] bytes of the backlog, beyond which the oldest texts are dropped; 0: there is no history, and the texts stay
--      in the outbox until a history exists
-- ARGV[3] bodies that the history keeps: 'on', 'off', or 'errors' for jobs that were not delivered
-- ARGV[4] maximum number of texts   [5] maximum bytes of texts; the first text is always returned, however long it is
-- ARGV[6] number of texts that the caller has read and not removed yet; the texts after these are returned. If an
--      earlier caller has read texts without removing them, these texts are returned again
-- Returns {now_us, number of texts in the outbox, their bytes, number of texts dropped so far, number of fields that
-- archived.lua has removed so far, number of disturbances (see Outbox.disturb_archiver in lib/outbox.lua), then a list of
-- fields, a list of their texts, a list of fields, a list of their texts, ...}. The list of texts has nil for a field
-- without a text.

local backlog, bodies, bytes_left, offset
local CHUNK, CHUNK_MAX, CHUNK_BYTES = 16, 256, 262144

local function configure()
  local old = call('HMGET', HISTORY, 'backlog', 'bodies')
  if backlog == '0' then
    if old[1] then call('DEL', HISTORY) end
  elseif old[1] ~= backlog or old[2] ~= bodies then
    call('HSET', HISTORY, 'backlog', backlog, 'bodies', bodies)
  end
end

-- Returns the names of the next fields of the outbox. If a field has not been read before, moves it to the list of
-- fields that were read.
local function next_fields(number)
  local fields = call('LRANGE', ENDED_READ, offset, offset + number - 1)
  if #fields > 0 then return fields end
  fields = call('LPOP', ENDED_IDS, number) or {}
  if #fields > 0 then call('RPUSH', ENDED_READ, unpack(fields)) end
  return fields
end

local function read_numbers() return call('HMGET', NUMBERS, 'outbox_bytes', 'outbox_dropped', 'outbox_removed', 'outbox_moved') end

-- Returns how many of these texts, from the first one on, fit into the bytes that this call may return.
local function fitting(texts)
  for i = 1, #texts do
    if texts[i] then bytes_left = bytes_left - #texts[i] end
    if bytes_left <= 0 then return i end
  end
  return #texts
end

script('archive', {'allow-oom'}, {Outbox}, function()
  backlog = ARGV[2]
  bodies = ARGV[3]
  local most = tonumber(ARGV[4])
  bytes_left = tonumber(ARGV[5])
  offset = tonumber(ARGV[6])
  probe_slot()
  refuse_newer_format()
  configure()
  local numbers = read_numbers()
  local excess = (tonumber(numbers[1]) or 0) - tonumber(backlog)
  if backlog ~= '0' and excess > 0 then
    Outbox.drop_oldest(excess)
    numbers = read_numbers()
  end
  local replies = {now_us, call('HLEN', ENDED)}
  for i = 1, 4 do replies[i + 2] = tonumber(numbers[i]) or 0 end
  local first_left, chunk = bytes_left, CHUNK
  offset = math.min(offset, call('LLEN', ENDED_READ))
  while backlog ~= '0' and most > 0 and bytes_left > 0 do
    local fields = next_fields(math.min(most, chunk))
    if #fields == 0 then break end
    local texts = call('HMGET', ENDED, unpack(fields))
    local number = fitting(texts)
    for i = #fields, number + 1, -1 do fields[i], texts[i] = nil, nil end
    replies[#replies + 1], replies[#replies + 2] = fields, texts
    most, offset = most - number, offset + number
    chunk = math.max(CHUNK, math.min(CHUNK_MAX, math.floor(CHUNK_BYTES / ((first_left - bytes_left) / number + 1))))
  end
  return replies
end)
