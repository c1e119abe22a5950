-- outbox.lua - the outbox: jobs that have ended and are not in the history (a database) yet.
--
-- While a history is on, the key HISTORY exists. Each script that ends a job then also writes the job's data, as one
-- text, to the hash ENDED. The archiver, a part of duepost, copies the texts to the database, and removes each text
-- from ENDED when the database has it. If the size of all texts exceeds the limit backlog, the oldest texts are dropped
-- and counted, but not texts that the archiver has already read.
--
-- If a job ends while ENDED still has the text of an earlier job with the same id, the new text gets another field, and
-- ENDED_LAST has the name of this field. So no text changes while it is in the outbox.

local Outbox = {uses = {Attempts, Records}}

-- The ids and texts of the jobs that this call has ended, in order. Outbox.write writes both. Each id is in the list
-- once.
Outbox.ids = {}
local new_texts = {}

-- Returns the size of a field and its text, as it counts against the limit backlog.
function Outbox.size(field, text) return 2 * #field + #text end

-- Returns a record with "bodyLeftOut":true in place of its body. The body of an old record (records.lua), and one that is
-- encrypted together with other members, stay: the archiver leaves them out.
local function without_body(record)
  local _, _, size, at = Records.head(record)
  if not size or string.byte(record, at + size) ~= 44 then return record end -- no comma: there is no body
  if string.sub(record, at + size, at + size + 9) == ',"sealed":' then return record end
  return Records.cut_body(record, ',"bodyLeftOut":true}')
end

-- Removes these fields from ENDED. Returns how many of the fields existed.
function Outbox.remove(fields)
  for i = 1, call('EXISTS', ENDED_LAST) == 1 and #fields or 0 do
    local id = string.match(fields[i], '^(.*)\nb%d+$')
    if id and call('HGET', ENDED_LAST, id) == fields[i] then call('HDEL', ENDED_LAST, id) end
  end
  return call('HDEL', ENDED, unpack(fields))
end

-- Drops the oldest texts until excess bytes are free, but at most DROP_MAX texts in one call.
local DROP_AT_ONCE, DROP_MAX = 16, 1024
function Outbox.drop_oldest(excess)
  local freed, dropped = 0, 0
  for _ = 1, DROP_MAX / DROP_AT_ONCE do
    local fields, number = call('LRANGE', ENDED_IDS, 0, DROP_AT_ONCE - 1), 0
    local texts = #fields > 0 and call('HMGET', ENDED, unpack(fields)) or {}
    while freed < excess and number < #fields do
      number = number + 1
      freed = freed + (texts[number] and Outbox.size(fields[number], texts[number]) or 0)
      dropped = dropped + (texts[number] and 1 or 0)
    end
    if number == 0 then break end
    call('LTRIM', ENDED_IDS, number, -1)
    Outbox.remove({unpack(fields, 1, number)})
  end
  if freed == 0 then return end
  call('HINCRBY', NUMBERS, 'outbox_bytes', -freed)
  call('HINCRBY', NUMBERS, 'outbox_dropped', dropped)
end

-- Makes the archiver read the outbox again from its beginning. The archiver does so when the number 'outbox_moved' has
-- changed since it read the texts. Versions before 0.3 also raise this number, when they change a text.
function Outbox.disturb_archiver() call('HINCRBY', NUMBERS, 'outbox_moved', 1) end

local history = nil -- the fields backlog and bodies of HISTORY, after the first read
function Outbox.write()
  local olds, fields, bytes, last = call('HMGET', ENDED, unpack(Outbox.ids)), {}, 0, nil
  if has(ENDED_LAST) then call('HDEL', ENDED_LAST, unpack(Outbox.ids)) end
  for i = 1, #Outbox.ids do
    local field, text = Outbox.ids[i], new_texts[i]
    if olds[i] then
      field = field .. '\nb' .. call('HINCRBY', NUMBERS, 'outbox_again', 1)
      last = last or {}
      last[#last + 1] = Outbox.ids[i]
      last[#last + 1] = field
      Outbox.ids[i] = field
    end
    fields[2 * i - 1], fields[2 * i] = field, text
    bytes = bytes + 2 * #field + #text
  end
  call('HSET', ENDED, unpack(fields))
  call('RPUSH', ENDED_IDS, unpack(Outbox.ids))
  if last then
    call('HSET', ENDED_LAST, unpack(last))
    is_there[ENDED_LAST] = true
  end
  Outbox.ids, new_texts = {}, {}
  local excess = call('HINCRBY', NUMBERS, 'outbox_bytes', bytes) - (tonumber(history[1]) or 0)
  if excess > 0 then Outbox.drop_oldest(excess) end
end

-- Returns whether the history keeps the bodies of jobs that end in this state.
local function keeps_bodies(state)
  history = history or call('HMGET', HISTORY, 'backlog', 'bodies')
  return history[2] ~= 'off' and (history[2] ~= 'errors' or state ~= 'delivered')
end

-- Puts an ended job into the outbox. reason: as in ended.lua.
local is_in_outbox = {}
function Outbox.add(id, state, at, losses, record, lines, reason)
  if is_in_outbox[id] then Outbox.write() end
  is_in_outbox[id] = true
  if not keeps_bodies(state) then record = without_body(record) end
  record = Records.with_reason(record, reason)
  local number = #Outbox.ids + 1
  Outbox.ids[number] = id
  new_texts[number] = state .. ' ' .. integer(at) .. ' ' .. losses .. ' ' .. #record .. ' ' .. record .. lines
end

-- Puts delivered jobs into the outbox, each with the line of its last attempt, which may be empty. Takes little time
-- for jobs without lost consumers and without earlier attempts. Returns how many jobs were handled, from the first
-- one on: the function stops when the call has read as many bytes as it may.
local READ_AT_ONCE = 16
function Outbox.add_delivered(ids, lines)
  local is_plain, number, head = keeps_bodies('delivered') and not has(CRASHES), #Outbox.ids, 'delivered ' .. integer(now) .. ' 0 '
  local heads = {} -- by size of the record
  for first = 1, #ids, READ_AT_ONCE do
    local last = math.min(first + READ_AT_ONCE - 1, #ids)
    local records, olds = call('HMGET', JOBS, unpack(ids, first, last)), {}
    if has(ATTEMPTS) then olds = call('HMGET', ATTEMPTS, unpack(ids, first, last)) end
    for i = first, last do
      if Records.bytes_left <= 0 then return i - 1 end
      local record, old, line = records[i - first + 1], olds[i - first + 1], lines[i]
      if record and is_plain and not old and line ~= '' then
        local size = #record
        heads[size] = heads[size] or head .. size .. ' '
        Records.bytes_left = Records.bytes_left - size
        number = number + 1
        Outbox.ids[number], new_texts[number] = ids[i], heads[size] .. record .. line .. '\n'
      elseif record then
        Records.bytes_left = Records.bytes_left - #record
        Outbox.add(ids[i], 'delivered', now, has(CRASHES) and Attempts.losses(ids[i]) or 0, record, Attempts.with_line(old or '', line))
        number = #Outbox.ids
      end
    end
  end
  return #ids
end

function Outbox.begin()
  history = nil
  if #Outbox.ids > 0 then Outbox.ids, new_texts = {}, {} end
  if next(is_in_outbox) then is_in_outbox = {} end
end

return Outbox
