-- outbox.lua - jobs that have ended and are on their way to the history.
--
-- While a history is on, HISTORY exists. Then each script that ends a job also writes the job's text to ENDED.
-- The archiver adds the texts to the database, and removes each text that it has added. If the texts exceed
-- the backlog, the oldest are dropped and counted, but not those that the archiver is adding.
--
-- If an id ends again before its first end has left the outbox, the older text moves to the field
-- 'id\n<number>'. So ENDED has the last end of an id in the field with its name.
-- uses: attempts clock has record waiting

local ENDED = base .. 'ended' -- id, or 'id\n<number>' -> text as in kept, see ended.lua
local ENDED_IDS = base .. 'ended_ids' -- LIST: fields of ENDED that the archiver has not read, oldest first
local ENDED_READ = base .. 'ended_read' -- LIST: fields of ENDED that the archiver has read

-- The jobs that this call has ended, in order. write_outbox writes them.
local outbox_ids, outbox_texts = {}, {}

-- Returns the part of the backlog that a field takes.
local function outbox_size(field, text) return 2 * #field + #text end

-- Returns the end of the string that begins at this quotation mark.
local function end_of_string(record, at)
  repeat
    at = string.find(record, '["\\]', at + 1)
    local is_escape = at and string.byte(record, at) == 92
    if is_escape then at = at + 1 end
  until not is_escape
  return at
end

-- Returns a record with "bodyLeftOut":true in place of its body, which is the last member. Members of headers may have the same name.
local function without_body(record)
  local at, depth = 1, 0
  while true do
    at = string.find(record, '["%[%]{}]', at)
    if not at then return record end
    local byte = string.byte(record, at)
    if byte == 34 then
      local last = end_of_string(record, at)
      local name = depth == 1 and last and string.match(record, '^"(%w+)":', at)
      if name == 'body' or name == 'bodyBase64' then return string.sub(record, 1, at - 1) .. '"bodyLeftOut":true}' end
      at = last or #record
    else
      depth = depth + ((byte == 91 or byte == 123) and 1 or -1)
    end
    at = at + 1
  end
end

-- Puts an ended job into the outbox. Most jobs of a call end in the same way, and many have records of the
-- same size, so the beginning of the text is reused.
local history
local last_state, last_at, last_losses, last_head
local text_of_size = {}
-- rare: outbox
local function archive(id, state, at, losses, record, lines)
  history = history or call('HMGET', HISTORY, 'backlog', 'bodies')
  if history[2] == 'off' or history[2] == 'errors' and state == 'delivered' then record = without_body(record) end
  if state ~= last_state or at ~= last_at or losses ~= last_losses then
    last_state, last_at, last_losses, last_head = state, at, losses, state .. ' ' .. integer(at) .. ' ' .. losses .. ' '
  end
  local size = text_of_size[#record]
  if not size then
    size = #record .. ' '
    text_of_size[#record] = size
  end
  local number = #outbox_ids + 1
  outbox_ids[number], outbox_texts[number] = id, last_head .. size .. record .. lines
end

-- Drops the oldest texts, a limited number of them in one call.
local DROP_AT_ONCE, DROP_MAX = 16, 1024
local function drop_oldest(excess)
  local freed, dropped = 0, 0
  for _ = 1, DROP_MAX / DROP_AT_ONCE do
    local fields, number = call('LRANGE', ENDED_IDS, 0, DROP_AT_ONCE - 1), 0
    local texts = #fields > 0 and call('HMGET', ENDED, unpack(fields)) or {}
    while freed < excess and number < #fields do
      number = number + 1
      freed = freed + (texts[number] and outbox_size(fields[number], texts[number]) or 0)
      dropped = dropped + (texts[number] and 1 or 0)
    end
    if number == 0 then break end
    call('LTRIM', ENDED_IDS, number, -1)
    call('HDEL', ENDED, unpack(fields, 1, number))
  end
  if freed == 0 then return end
  call('HINCRBY', NUMBERS, 'outbox_bytes', -freed)
  call('HINCRBY', NUMBERS, 'outbox_dropped', dropped)
end

-- The archiver recognizes a text by its beginning and its size.
local TAG_SIZE = 48
local function has_same_tag(a, b) return #a == #b and string.sub(a, 1, TAG_SIZE) == string.sub(b, 1, TAG_SIZE) end

-- If ENDED still has an older end of the id, moves it to a field of its own. Returns this field, its text,
-- and the number of added bytes.
-- rare: outbox
local function move_old(id, old, text)
  local field = id .. '\n' .. call('HINCRBY', NUMBERS, 'outbox_moved', 1)
  -- The archiver may have read the old text, and would then remove a text with the same tag: so the new text
  -- is written to both fields.
  local moved = has_same_tag(old, text) and text or old
  return field, moved, outbox_size(field, moved) + #text - #old
end

-- rare: outbox
local function write_outbox()
  local olds, texts, fields, listed, bytes = call('HMGET', ENDED, unpack(outbox_ids)), {}, {}, {}, 0
  for i = 1, #outbox_ids do
    local id, text, field = outbox_ids[i], outbox_texts[i], outbox_ids[i]
    local old, at = texts[id] or olds[i], #fields
    fields[at + 1], fields[at + 2] = id, text
    if old then
      local moved, more
      field, moved, more = move_old(id, old, text)
      fields[at + 3], fields[at + 4], bytes = field, moved, bytes + more
    else
      bytes = bytes + 2 * #id + #text
    end
    listed[i], texts[id] = field, text
  end
  call('HSET', ENDED, unpack(fields))
  call('RPUSH', ENDED_IDS, unpack(listed))
  local excess = call('HINCRBY', NUMBERS, 'outbox_bytes', bytes) - (tonumber(history[1]) or 0)
  if excess > 0 then drop_oldest(excess) end
end

-- The ids of the jobs that read_job reads, several at a time and in their order, and the jobs that were read.
local READ_AT_ONCE = 16
local to_read, number_read, records_read, lines_read = {}, 0, {}, {}
-- rare: outbox
local function read_ahead(ids) to_read = ids end

-- Returns record and lines of a job of the pool; nothing if there is no such job.
-- rare: outbox
local function read_job(id)
  if records_read[id] == nil and number_read < #to_read then
    local ids = {unpack(to_read, number_read + 1, math.min(number_read + READ_AT_ONCE, #to_read))}
    local records, lines = call('HMGET', JOBS, unpack(ids)), has(ATTEMPTS) and call('HMGET', ATTEMPTS, unpack(ids)) or {}
    for i = 1, #ids do records_read[ids[i]], lines_read[ids[i]] = records[i], lines[i] or '' end
    number_read = number_read + #ids
  end
  local record, lines = records_read[id], lines_read[id]
  records_read[id] = nil
  if not record then record, lines = call('HGET', JOBS, id), lines_of(id) end
  if record then return record, lines or '' end
end
