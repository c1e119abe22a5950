-- outbox.lua - the outbox: jobs that have ended and are not in the history (a database) yet.
--
-- While a history is on, the key HISTORY exists. Each script that ends a job then also writes the job's data, as one
-- text, to the hash ENDED. The archiver, a part of duepost, copies the texts to the database, and removes each text
-- from ENDED when the database has it. If the size of all texts exceeds the limit backlog, the oldest texts are dropped
-- and counted, but not texts that the archiver has already read.
--
-- If a job ends while ENDED still has the text of an earlier job with the same id, the new text gets another field, and
-- ENDED_LAST has the name of this field. So no text changes while it is in the outbox.
-- uses: attempts clock crashes has head record waiting

local ENDED = base .. 'ended' -- id, or 'id\nb<number>' -> text as in KEPT, see ended.lua
local ENDED_LAST = base .. 'ended_last' -- id -> the field with its latest text, if this field is not the id itself
local ENDED_IDS = base .. 'ended_ids' -- LIST: fields of ENDED that the archiver has not read, oldest first
local ENDED_READ = base .. 'ended_read' -- LIST: fields of ENDED that the archiver has read

-- The ids and texts of the jobs that this call has ended, in order. write_outbox writes both. Each id is in the list
-- once.
local outbox_ids, outbox_texts = {}, {}

-- Returns the size of a field and its text, as it counts against the limit backlog.
local function outbox_size(field, text) return 2 * #field + #text end

-- Returns a record with "bodyLeftOut":true in place of its body. The body of an old record (head.lua) stays: the archiver
-- leaves it out.
local function without_body(record)
  local _, _, size, at = head_of(record)
  if not size or string.byte(record, at + size) ~= 44 then return record end -- no comma: there is no body
  return cut_body(record, ',"bodyLeftOut":true}')
end

-- Removes these fields from ENDED. Returns how many of the fields existed.
local function remove_texts(fields)
  for i = 1, call('EXISTS', ENDED_LAST) == 1 and #fields or 0 do
    local id = string.match(fields[i], '^(.*)\nb%d+$')
    if id and call('HGET', ENDED_LAST, id) == fields[i] then call('HDEL', ENDED_LAST, id) end
  end
  return call('HDEL', ENDED, unpack(fields))
end

-- Drops the oldest texts until excess bytes are free, but at most DROP_MAX texts in one call.
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
    remove_texts({unpack(fields, 1, number)})
  end
  if freed == 0 then return end
  call('HINCRBY', NUMBERS, 'outbox_bytes', -freed)
  call('HINCRBY', NUMBERS, 'outbox_dropped', dropped)
end

-- Makes the archiver read the outbox again from its beginning. The archiver does so when the number 'outbox_moved' has
-- changed since it read the texts. Versions before 0.3 also raise this number, when they change a text.
local function disturb_archiver() call('HINCRBY', NUMBERS, 'outbox_moved', 1) end

local history = nil -- the fields backlog and bodies of HISTORY, after the first read
-- rare: outbox
local function write_outbox()
  local olds, fields, bytes, last = call('HMGET', ENDED, unpack(outbox_ids)), {}, 0, nil
  if has(ENDED_LAST) then call('HDEL', ENDED_LAST, unpack(outbox_ids)) end
  for i = 1, #outbox_ids do
    local field, text = outbox_ids[i], outbox_texts[i]
    if olds[i] then
      field = field .. '\nb' .. call('HINCRBY', NUMBERS, 'outbox_again', 1)
      last = last or {}
      last[#last + 1] = outbox_ids[i]
      last[#last + 1] = field
      outbox_ids[i] = field
    end
    fields[2 * i - 1], fields[2 * i] = field, text
    bytes = bytes + 2 * #field + #text
  end
  call('HSET', ENDED, unpack(fields))
  call('RPUSH', ENDED_IDS, unpack(outbox_ids))
  if last then
    call('HSET', ENDED_LAST, unpack(last))
    is_there[ENDED_LAST] = true
  end
  outbox_ids, outbox_texts = {}, {}
  local excess = call('HINCRBY', NUMBERS, 'outbox_bytes', bytes) - (tonumber(history[1]) or 0)
  if excess > 0 then drop_oldest(excess) end
end

-- Returns whether the history keeps the bodies of jobs that end in this state.
-- rare: outbox
local function keeps_bodies(state)
  history = history or call('HMGET', HISTORY, 'backlog', 'bodies')
  return history[2] ~= 'off' and (history[2] ~= 'errors' or state ~= 'delivered')
end

-- Puts an ended job into the outbox. reason: as in ended.lua.
local is_in_outbox = {}
-- rare: outbox
local function archive(id, state, at, losses, record, lines, reason)
  if is_in_outbox[id] then write_outbox() end
  is_in_outbox[id] = true
  if not keeps_bodies(state) then record = without_body(record) end
  record = with_reason(record, reason)
  local number = #outbox_ids + 1
  outbox_ids[number] = id
  outbox_texts[number] = state .. ' ' .. integer(at) .. ' ' .. losses .. ' ' .. #record .. ' ' .. record .. lines
end

-- Puts delivered jobs into the outbox, each with the line of its last attempt, which may be empty. Takes little time
-- for jobs without lost consumers and without earlier attempts. Returns how many jobs were handled, from the first
-- one on: the function stops when the call has read as many bytes as it may.
local READ_AT_ONCE = 16
-- rare: outbox
local function archive_delivered(ids, lines)
  local is_plain, number, head = keeps_bodies('delivered') and not has(CRASHES), #outbox_ids, 'delivered ' .. integer(now) .. ' 0 '
  local heads = {} -- by size of the record
  for first = 1, #ids, READ_AT_ONCE do
    local last = math.min(first + READ_AT_ONCE - 1, #ids)
    local records, olds = call('HMGET', JOBS, unpack(ids, first, last)), {}
    if has(ATTEMPTS) then olds = call('HMGET', ATTEMPTS, unpack(ids, first, last)) end
    for i = first, last do
      if record_bytes_left <= 0 then return i - 1 end
      local record, old, line = records[i - first + 1], olds[i - first + 1], lines[i]
      if record and is_plain and not old and line ~= '' then
        local size = #record
        heads[size] = heads[size] or head .. size .. ' '
        record_bytes_left = record_bytes_left - size
        number = number + 1
        outbox_ids[number], outbox_texts[number] = ids[i], heads[size] .. record .. line .. '\n'
      elseif record then
        record_bytes_left = record_bytes_left - #record
        archive(ids[i], 'delivered', now, has(CRASHES) and losses_of(ids[i]) or 0, record, with_attempt(old or '', line))
        number = #outbox_ids
      end
    end
  end
  return #ids
end
