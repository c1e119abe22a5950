#!lua flags=allow-oom
-- archived.lua - removes texts from the outbox that the history has. A text that has changed since it was read
-- stays, and will be read again.
--
-- ARGV from 2: field, beginning of its text, bytes of the text, ... in the order in which archive.lua
-- returned them
-- Returns {now_us, number of texts removed}.
-- uses: clock outbox probe
if (#ARGV - 1) % 3 ~= 0 then error('wrong number of arguments') end
probe_slot()
local number, seen = (#ARGV - 1) / 3, {}
for i = 2, #ARGV, 3 do seen[ARGV[i]] = i end

-- The fields are at the beginning of the list ENDED_READ, unless two archivers have read the list, or Redis
-- has lost its last changes. Fields that are not among the first stay, and are added to the history again.
local first, others, changed, gone, bytes = call('LRANGE', ENDED_READ, 0, number - 1), {}, {}, {}, 0

local CHUNK = 64 -- number of texts that archive.lua has given to one call
local is_gone = {}
local function look_at(fields)
  local texts = call('HMGET', ENDED, unpack(fields))
  for i = 1, #fields do
    local field, text, at = fields[i], texts[i], seen[fields[i]]
    if not at then
      others[#others + 1] = field
    elseif text and not is_gone[field] then -- a walk that repairs may list a field twice
      if #text == tonumber(ARGV[at + 2]) and string.find(text, ARGV[at + 1], 1, true) == 1 then
        is_gone[field] = true
        gone[#gone + 1] = field
        bytes = bytes + 2 * #field + #text
      else
        changed[#changed + 1] = field
      end
    end
  end
end

for from = 1, #first, CHUNK do look_at({unpack(first, from, math.min(from + CHUNK - 1, #first))}) end
if #first > 0 then call('LTRIM', ENDED_READ, #first, -1) end
for i = #others, 1, -1 do call('LPUSH', ENDED_READ, others[i]) end
if #changed > 0 then call('RPUSH', ENDED_IDS, unpack(changed)) end
local removed = #gone > 0 and call('HDEL', ENDED, unpack(gone)) or 0
if bytes > 0 then call('HINCRBY', NUMBERS, 'outbox_bytes', -bytes) end
-- When the outbox is empty, the stored sum of bytes is reset.
if removed > 0 and call('EXISTS', ENDED) == 0 then call('HDEL', NUMBERS, 'outbox_bytes') end
return {now_us, removed}
