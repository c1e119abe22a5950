#!lua flags=no-writes
-- list.lua - a page of the jobs in one state, in the order of their times, then of their ids.
--
-- ARGV[2] state   [3] topic, may be empty for leased and dead   [4] the most jobs
-- ARGV[5] [6] score and id of the last job of the page before, or two empty texts
-- ARGV[7] the most entries to look at   [8] the most bytes of records
-- Returns {now_us, score, id of the last entry looked at or '', '' at the end,
--          then for each job: id, score, record, lost consumers}.
local state, topic, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
local look, bytes_left = tonumber(ARGV[7]), tonumber(ARGV[8])
local places_of = {leased = LEASES, dead = DEAD}
local key = places_of[state] or bucket_of(topic)

-- Redis's order of ids. Lua's own < compares by the locale that Redis was started in.
local function precedes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- How many entries of key come before, or are, (score, id): the rank to go on from. The entry itself
-- may be gone, so its place is found by halving.
local function rank_after(score, id)
  local low = call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(id, call('ZRANGE', key, middle, middle)[1]) then high = middle else low = middle + 1 end
  end
  return low
end

-- A job is ready when its time has come, delayed until then: two parts of one bucket.
local from, to = 0, call('ZCARD', key) - 1
if state == 'delayed' then from = call('ZCOUNT', key, '-inf', now) end
if state == 'ready' then to = call('ZCOUNT', key, '-inf', now) - 1 end
if ARGV[5] ~= '' then from = math.max(from, rank_after(ARGV[5], ARGV[6])) end

local replies = {now_us, '', ''}
local PAGE = 100
local found = 0
while from <= to and look > 0 and found < most and bytes_left > 0 do
  local entries = call('ZRANGE', key, from, math.min(to, from + math.min(PAGE, look) - 1), 'WITHSCORES')
  for i = 1, #entries, 2 do
    local id = entries[i]
    from, look = from + 1, look - 1
    replies[2], replies[3] = entries[i + 1], id
    if topic == '' or topic_of(id) == topic then
      local record = call('HGET', JOBS, id)
      if record then
        replies[#replies + 1] = id
        replies[#replies + 1] = tonumber(entries[i + 1])
        replies[#replies + 1] = record
        replies[#replies + 1] = losses_of(id)
        found, bytes_left = found + 1, bytes_left - #record
        if found == most or bytes_left <= 0 then break end
      end
    end
  end
end
if from > to then replies[2], replies[3] = '', '' end
return replies
