-- coming.lua - counts how many waiting jobs are overdue, and how many become due in each of the given spans of time. A
-- count is a walk through the topics, and each call is one step of it. A held job was due and waits for its receiver
-- (lib/holds.lua); the head of a fifo topic is its first job (lib/fifo.lua). Held jobs count as overdue. The head of a
-- fifo topic counts in the span in which its next attempt may begin.
--
-- The topics are examined in the order of their names. If there are more topics than a walk may examine, it examines a
-- sample: blocks of neighbouring topics, at equal distances in that order. Jobs and topics that change during a walk
-- may be missed or counted twice.
--
-- ARGV[2] number of topics examined so far   [3] maximum number of topics that a walk examines   [4] when the walk
--      began, ms [5] the number of topics at that time. Both are 0 in the first step; later steps pass the values that
--      the first step returned
-- ARGV[6] ... ends of the spans, ms from the beginning of the walk, in ascending order
-- Returns {now_us, when the walk began, number of topics at that time, number of topics examined so far, number of
-- topics still to examine, waiting jobs of all topics, then jobs of the topics that this step has examined: number
-- that is overdue, number in each span, number after the last span}.

local examined, most, total, target

-- The first span counts the overdue jobs. One more span, after the last end, counts all later jobs.
local ends, counts

local function span_of(score)
  local first, last = 1, #ends + 1
  score = tonumber(score)
  while first < last do
    local middle = math.floor((first + last) / 2)
    if score < ends[middle] then last = middle else first = middle + 1 end
  end
  return first
end

-- Counts the jobs of a large bucket in the spans from first to last. below_first is the number of jobs before
-- the span first; below_last is the number of jobs before the end of the span last.
local function count_spans(bucket, first, last, below_first, below_last)
  if below_first == below_last then return end
  if first == last then
    counts[first] = counts[first] + below_last - below_first
    return
  end
  local middle = math.floor((first + last) / 2)
  local below = call('ZCOUNT', bucket, '-inf', '(' .. integer(ends[middle]))
  count_spans(bucket, first, middle, below_first, below)
  count_spans(bucket, middle + 1, last, below, below_last)
end

local function move(from, to, number)
  number = math.min(number, counts[from])
  counts[from] = counts[from] - number
  counts[to] = counts[to] + number
end

-- A held job is overdue, but its score in the bucket is the end of its hold. So held jobs are counted in the first
-- span, and not in the span of their scores. If a topic has many held jobs, only the first ones are examined, as a
-- sample of all.
local HELD_LOOK = 100
local function move_held(topic)
  local number = call('ZCARD', Holds.key(topic))
  if number == 0 then return end
  local ids, numbers = call('ZRANGE', Holds.key(topic), 0, HELD_LOOK - 1), {}
  for _, score in ipairs(call('ZMSCORE', bucket_of(topic), unpack(ids))) do
    local span = score and span_of(score) or 1
    numbers[span] = (numbers[span] or 0) + 1
  end
  for span, found in pairs(numbers) do move(span, 1, math.floor(found * number / #ids + 0.5)) end
end

-- Counts the head of a fifo topic in the span in which its next attempt may begin. The topic's line (lib/fifo.lua)
-- has the time of that attempt; the head's score may be far in the past.
local function move_head(topic, id, score)
  local at, line_score, line_id = Fifo.line(topic)
  if not at or not is_fifo(topic) or line_id ~= id or tonumber(line_score) ~= tonumber(score) then return end
  local from = has(HELD) and call('ZSCORE', Holds.key(topic), id) and 1 or span_of(score) -- see move_held
  move(from, math.max(from, span_of(at)), 1)
end

-- Counts the jobs of a topic by their spans. Most buckets (sets of waiting jobs) are small; one command is enough for
-- them. Returns whether the bucket is large.
local FEW = 16
local function examine(topic)
  local bucket = bucket_of(topic)
  local jobs = call('ZRANGE', bucket, 0, FEW, 'WITHSCORES')
  local is_large = #jobs > 2 * FEW
  if is_large then
    count_spans(bucket, 1, #counts, 0, call('ZCARD', bucket))
  else
    for i = 2, #jobs, 2 do
      local span = span_of(jobs[i])
      counts[span] = counts[span] + 1
    end
  end
  if jobs[1] and has(HELD) then move_held(topic) end
  if jobs[1] and has(LINES) then move_head(topic, jobs[1], jobs[2]) end
  return is_large
end

local BLOCK, STEP_US = 16, 1500
local function may_go_on() return clock.spent_us() < STEP_US end

-- Returns topics from the current position to the end of their block.
local function next_topics()
  local behind = examined % BLOCK
  local first = examined - behind
  if total > most then first = math.floor(first * total / most) end
  local number = math.min(BLOCK - behind, target - examined)
  return call('ZRANGE', NAMES, first + behind, first + behind + number - 1), number
end

script('coming', {'no-writes'}, {Fifo, Holds}, function()
  examined = tonumber(ARGV[2])
  most = tonumber(ARGV[3])
  local began = tonumber(ARGV[4])
  total = tonumber(ARGV[5])
  if began == 0 then began, total = now, call('ZCARD', NAMES) end
  target = math.min(most, total)
  ends, counts = {began + 1}, {0, 0}
  for i = 6, #ARGV do
    ends[#ends + 1] = began + 1 + tonumber(ARGV[i])
    counts[#counts + 1] = 0
  end
  local is_late = false
  while examined < target and not is_late do
    local topics, number = next_topics()
    local i = 0
    while i < #topics and not is_late do
      i = i + 1
      is_late = examine(topics[i]) and not may_go_on()
    end
    examined = examined + (i < #topics and i or number)
    is_late = is_late or not may_go_on()
  end
  return {now_us, began, total, examined, target - examined, tonumber(call('HGET', NUMBERS, 'waiting') or 0), unpack(counts)}
end)
