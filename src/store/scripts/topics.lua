#!lua flags=no-writes
-- topics.lua - topics as they are: one, or a page of those that have jobs or settings, by name.
--
-- ARGV[2] a topic, or empty for a page   [3] the name to go on behind, or empty   [4] the most topics
-- ARGV[5] the most entries of a key to look at: topics beyond are not found
--      (a few more of TOPICS, and only some MiB of what is in it)
-- Returns {now_us, 1 when there are more behind, 1 when not all entries were looked at, then for each topic: name,
-- settings or '', delayed, ready, leased, dead, due time of the first job or -1, until when its first job is held:
-- -1 not at all, -2 until something ends, else ms; delivered, retried and died within the last hour}.
-- uses: hour kept offer order record topic
local one, after, most, look = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local is_partial = 0

local function entries_of(key)
  if call('ZCARD', key) > look then is_partial = 1 end
  return call('ZRANGE', key, 0, look - 1)
end

local names, is_known = {}, {}
local function note(topic)
  if is_known[topic] then return end
  is_known[topic] = true
  names[#names + 1] = topic
end

-- The topics with settings; of too many those that a walk comes by first, as it brings the settings, too.
local function note_settings()
  if call('HLEN', TOPICS) <= look then
    for _, topic in ipairs(call('HKEYS', TOPICS)) do note(topic) end
    return
  end
  local cursor, left = '0', look
  is_partial = 1
  repeat
    local step = call('HSCAN', TOPICS, cursor, 'COUNT', 100)
    cursor, left = step[1], left - math.max(1, #step[2] / 2)
    for i = 1, #step[2], 2 do
      note(step[2][i])
      record_bytes_left = record_bytes_left - #step[2][i + 1]
    end
  until cursor == '0' or left <= 0 or has_read_enough()
end

-- Of the names those that are the first ones behind after, in order, as many as fill a page and tell of another: to sort
-- all of them takes long. They are taken by chance, so that few come before those that are kept, whatever order they have.
local function first_names()
  local first = {}
  local function keep(topic)
    local is_full = #first > most
    if is_full and precedes(first[#first], topic) or after ~= '' and not precedes(after, topic) then return end
    if is_full then first[#first] = nil end
    local low, high = 1, #first + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if precedes(first[middle], topic) then low = middle + 1 else high = middle end
    end
    table.insert(first, low, topic)
  end
  for i = 1, #names do
    local k = math.random(i, #names)
    keep(names[k])
    names[k] = names[i]
  end
  return first
end

if one == '' then
  for _, key in ipairs({DUE, TURNS, DEAD_DUE}) do
    for _, topic in ipairs(entries_of(key)) do note(topic) end
  end
  for _, id in ipairs(entries_of(LEASES)) do note(topic_of(id)) end
  note_settings()
end
names = one ~= '' and {one} or first_names()

local function held(topic, due)
  if due == -1 or due > now then return -1 end
  local at = held_until(topic, due)
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
    call('ZCARD', index_of('dead', topic)), due, held(topic, due), hour.d, hour.r, hour.x,
  }) do
    replies[#replies + 1] = part
  end
end
return replies
