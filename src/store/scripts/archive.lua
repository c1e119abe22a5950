#!lua flags=allow-oom
-- archive.lua - turns the history on or off, and reads the next texts from the outbox (lib/outbox.lua).
--
-- ARGV[2] bytes of the backlog, beyond which the oldest texts are dropped; 0: there is no history. The texts
--      then stay until there is one
-- ARGV[3] bodies that the history keeps: 'on', 'off', or 'errors' for jobs that were not delivered
-- ARGV[4] maximum number of texts   [5] maximum bytes of texts; the first one is always returned
-- ARGV[6] number of texts that the caller has read and not removed yet. After these, texts are read again
--      that an earlier caller has read and not removed
-- Returns {now_us, number of texts in the outbox, their bytes, number of texts dropped so far, then for each
-- text: field, text}. A text is '' if the field has no text; archived.lua then removes the field.
-- uses: clock has outbox probe
local backlog, bodies, most, bytes_left, offset = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local CHUNK = 16
probe_slot()

local function configure()
  local old = call('HMGET', HISTORY, 'backlog', 'bodies')
  if backlog == '0' then
    if old[1] then call('DEL', HISTORY) end
  elseif old[1] ~= backlog or old[2] ~= bodies then
    call('HSET', HISTORY, 'backlog', backlog, 'bodies', bodies)
  end
end

-- Returns the next fields. Moves fields that are read for the first time to the list of fields that were
-- read.
local function next_fields(number)
  local fields = call('LRANGE', ENDED_READ, offset, offset + number - 1)
  if #fields > 0 then return fields end
  fields = call('LPOP', ENDED_IDS, number) or {}
  if #fields > 0 then call('RPUSH', ENDED_READ, unpack(fields)) end
  return fields
end

configure()
local numbers = call('HMGET', NUMBERS, 'outbox_bytes', 'outbox_dropped')
local excess = (tonumber(numbers[1]) or 0) - tonumber(backlog)
if backlog ~= '0' and excess > 0 then
  drop_oldest(excess)
  numbers = call('HMGET', NUMBERS, 'outbox_bytes', 'outbox_dropped')
end
local replies = {now_us, call('HLEN', ENDED), tonumber(numbers[1]) or 0, tonumber(numbers[2]) or 0}
offset = math.min(offset, call('LLEN', ENDED_READ))
while backlog ~= '0' and most > 0 and bytes_left > 0 do
  local fields = next_fields(math.min(most, CHUNK))
  if #fields == 0 then break end
  local texts = call('HMGET', ENDED, unpack(fields))
  for i = 1, #fields do
    if bytes_left <= 0 then break end
    local text, number = texts[i] or '', #replies
    replies[number + 1], replies[number + 2] = fields[i], text
    bytes_left, most, offset = bytes_left - #text, most - 1, offset + 1
  end
end
return replies
