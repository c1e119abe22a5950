-- reseal.lua - replaces texts by the same texts, encrypted with another key. A text that has changed since it was read
-- stays as it is, because a process has then written it with its own key. The flag allow-oom is not set, because the new
-- text may be longer.
--
-- ARGV from 2, as secrets.lua returns them: key, field, old text, new text, ...
-- Returns {now_us, result ...}. A result is 1, or 0 if there is another text now.

local KEYS_OF_HASHES = {jobs = true, attempts = true, progress = true, kept = true, topics = true, patterns = true, groups = true,
  schedules = true, waits = true}

local function is_hash(key) return KEYS_OF_HASHES[key] or string.find(key, '^workflow:') end

-- The entry of a schedule in FIRED begins with the tag of its definition (fire.lua).
local function move_tag(id, old, new)
  local entry, tag = call('HGET', FIRED, id), redis.sha1hex(old)
  if entry and string.sub(entry, 1, #tag) == tag then call('HSET', FIRED, id, redis.sha1hex(new) .. string.sub(entry, #tag + 1)) end
end

local function reseal(key, field, old, new)
  local name = base .. key
  if is_hash(key) then
    if call('HGET', name, field) ~= old then return 0 end
    call('HSET', name, field, new)
    if key == 'schedules' then move_tag(field, old, new) end
  else
    if call('LINDEX', name, field) ~= old then return 0 end
    call('LSET', name, field, new)
  end
  return 1
end

script('reseal', {}, {}, function()
  if (#ARGV - 1) % 4 ~= 0 then error('wrong number of arguments') end
  for i = 2, #ARGV, 4 do
    if not is_hash(ARGV[i]) and not string.find(ARGV[i], '^elements:') and not string.find(ARGV[i], '^events:') then error('not a key') end
  end
  probe()
  local replies = {now_us}
  for i = 2, #ARGV, 4 do replies[#replies + 1] = reseal(unpack(ARGV, i, i + 3)) end
  return replies
end)
