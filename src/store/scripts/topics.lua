#!lua flags=no-writes
-- topics.lua - topics as they are: one, or a page of those that have jobs or settings, by name.
--
-- ARGV[2] a topic, or empty for a page   [3] the name to go on behind, or empty   [4] the most topics
-- ARGV[5] the most entries of a key to look at: dead and leased jobs beyond are not counted, topics not found
-- Returns {now_us, 1 when there are more behind, 1 when not all entries were looked at, then for each topic: name,
-- settings or '', delayed, ready, leased, dead, due time of the first job or -1, until when its first job is held:
-- -1 not at all, -2 until something ends, else ms; delivered, retried and died within the last hour}.
local one, after, most, look = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local is_partial = 0

local function entries_of(key)
  if call('ZCARD', key) > look then is_partial = 1 end
  return call('ZRANGE', key, 0, look - 1)
end

local names, is_known, dead_of = {}, {}, {}
local function note(topic)
  if is_known[topic] or one ~= '' or after ~= '' and not precedes(after, topic) then return end
  is_known[topic] = true
  names[#names + 1] = topic
end

local dead = entries_of(DEAD)
for i = 1, #dead do
  local topic = topic_of(dead[i])
  dead_of[topic] = (dead_of[topic] or 0) + 1
  note(topic)
end
if one ~= '' then
  names[1] = one
else
  for _, key in ipairs({DUE, TURNS}) do
    for _, topic in ipairs(entries_of(key)) do note(topic) end
  end
  for _, id in ipairs(entries_of(LEASES)) do note(topic_of(id)) end
  for _, topic in ipairs(call('HKEYS', TOPICS)) do note(topic) end
  table.sort(names, precedes)
end

local function held(topic, due)
  if due == -1 or due > now then return -1 end
  local at = held_until(topic)
  return not at and -1 or at == 'inf' and -2 or tonumber(at)
end

local function last_hour(topic)
  local sums, fields = {d = 0, r = 0, x = 0}, call('HGETALL', hour_of(topic))
  for i = 1, #fields, 2 do
    local letter = string.sub(fields[i], -1)
    if is_of_last_hour(fields[i]) then sums[letter] = sums[letter] + fields[i + 1] end
  end
  return sums
end

local replies = {now_us, #names > most and 1 or 0, is_partial}
for i = 1, math.min(#names, most) do
  local topic = names[i]
  local first = call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')[2]
  local ready = call('ZCOUNT', bucket_of(topic), '-inf', now)
  local due = first and tonumber(first) or -1
  local hour = last_hour(topic)
  for _, part in ipairs({
    topic, settings_text_of(topic), call('ZCARD', bucket_of(topic)) - ready, ready, call('HLEN', holders_of(topic)),
    dead_of[topic] or 0, due, held(topic, due), hour.d, hour.r, hour.x,
  }) do
    replies[#replies + 1] = part
  end
end
return replies
