#!lua flags=no-writes
-- topics.lua - topics as they are: one, or a page of those that have jobs, jobs that are kept, or settings, by name.
--
-- ARGV[2] a topic, or empty for a page   [3] the name to go on behind, or empty   [4] the most topics   [5] 1: a page of the
-- most urgent topics; else absent
-- Returns {now_us, 1 when there are more behind, then for each topic: name, settings or '', delayed, ready, leased, dead,
-- when the first waiting job was or is due or -1, until when its first ready job is kept back: -1 not at all, -2 until
-- something ends, else ms; held, see held.lua; delivered, retried and died within the last hour}. With many ready jobs, only a part
-- is examined for held ones, whose time to try again has come. A page with some MiB of settings is shorter.
-- uses: held hour names offer record
local one, after, most = ARGV[2], ARGV[3], tonumber(ARGV[4])

local function held(topic, due)
  if due == -1 or due > now then return -1 end
  local at = held_until(topic, due)
  return not at and -1 or at == 'inf' and -2 or tonumber(at)
end

local LOOK = 100
local function number_held(topic, ready)
  if not has(HELD) then return 0, 0 end
  local number = call('ZCARD', held_of(topic))
  if number == 0 or ready == 0 then return number, 0 end
  local ids, found = call('ZRANGE', bucket_of(topic), 0, math.min(ready, LOOK) - 1), 0
  for _, due in ipairs(call('ZMSCORE', held_of(topic), unpack(ids))) do found = found + (due and 1 or 0) end
  return number, math.min(number, math.floor(found * ready / #ids))
end

local function first_due(topic, due)
  local first = has(HELD) and call('ZRANGE', held_of(topic), 0, 0, 'WITHSCORES')[2]
  return first and math.min(due, ms_of(first)) or due
end

-- Topics of a bounded look, those with the oldest overdue jobs first, then those with the next ones. Where there are no more
-- topics than are asked for, all are there.
local URGENT_LOOK = 200
local function urgent_names()
  local found, dues, ranks = {}, {}, {}
  local function add(topics)
    for i = 1, #topics do
      local topic = topics[i]
      if not dues[topic] then
        local first = call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
        found[#found + 1] = topic
        dues[topic], ranks[topic] = first_due(topic, first and ms_of(first) or math.huge), #found
      end
    end
  end
  for _, key in ipairs({HELD, TURNS, BEHIND, DUE}) do add(call('ZRANGE', key, 0, URGENT_LOOK - 1)) end
  add(call('ZRANGE', NAMES, 0, most - 1))
  table.sort(found, function(a, b)
    if dues[a] ~= dues[b] then return dues[a] < dues[b] end
    return ranks[a] < ranks[b]
  end)
  return found
end

local names = {one}
if ARGV[5] == '1' then
  names = urgent_names()
elseif one == '' then
  names = call('ZRANGE', NAMES, after == '' and '-' or '(' .. after, '+', 'BYLEX', 'LIMIT', 0, most + 1)
end

local replies, told = {now_us, 0}, 0
local hours = last_hours(names)
for i = 1, math.min(#names, most) do
  local topic = names[i]
  local settings_text = settings_text_of(topic)
  record_bytes_left = record_bytes_left - #settings_text
  if i > 1 and has_read_enough() then break end
  local first = call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')[2]
  local due = first and ms_of(first) or -1
  local ready = due > -1 and due <= now and call('ZCOUNT', bucket_of(topic), '-inf', DUE_NOW) or 0
  local waiting = first and call('ZCARD', bucket_of(topic)) or 0
  local held_number, held_ready = number_held(topic, ready)
  local hour = hours[topic]
  for _, part in ipairs({
    topic, settings_text, waiting - ready - held_number + held_ready, ready - held_ready, call('HLEN', holders_of(topic)),
    call('ZCARD', index_of('dead', topic)), first_due(topic, due), held(topic, due), held_number, hour.d, hour.r, hour.x,
  }) do
    replies[#replies + 1] = part
  end
  told = i
end
replies[2] = #names > told and 1 or 0
return replies
