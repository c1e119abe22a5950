-- line.lua - the order of fifo topics: no job of the topic is attempted before the job ahead of it has ended.
--
-- The first job of a fifo topic's bucket is its head. If an attempt of the head fails, the head keeps its score, and
-- the topic gets a line, its field in LINES: 'time score id'. time is when the next attempt may begin. A line holds
-- the topic only if it has the id and the score of the current head.
-- uses: due has held settings topic

local function write_line(topic, at, score, id)
  call('HSET', LINES, topic, table.concat({integer(at), score, id}, ' '))
  is_there[LINES] = true
end

-- Returns time, score and id of a topic's line.
local function line_of(topic)
  local line = has(LINES) and call('HGET', LINES, topic)
  if line then return string.match(line, '^(%d+) (%S+) (.+)$') end
end

-- Returns the time until which the head of a fifo topic is held, ms, or nothing if it is not held.
-- rare: line
local function line_until(topic)
  local at, score, id = line_of(topic)
  if not at or tonumber(at) <= now then return end
  local head = call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')
  if head[1] == id and tonumber(head[2]) == tonumber(score) then return at end
end

-- Writes the line of a job that is put back. A topic has only one line. If several jobs were in flight when the topic
-- became fifo, the first of them waits until the latest of their times. If this first job is cancelled before then,
-- or the topic is no longer fifo, the other jobs are due at once, before their own wait is over.
-- rare: line
local function hold_line(id, due, at)
  local topic = topic_of(id)
  local old_at, old_due, old_id = line_of(topic)
  at = math.max(at, ms_of(due)) -- even after a step of the clock, no job is early
  if old_at and old_id ~= id then
    at = math.max(at, tonumber(old_at))
    if tonumber(old_due) < tonumber(due) then id, due = old_id, old_due end
  end
  write_line(topic, at, due, id)
end

-- If the job is its topic's head, sets the time at which it may be claimed: due, or now if due is absent. The job stays
-- the head until it is claimed, even if the clock steps back. The caller must touch the topic.
-- rare: line
local function let_go(id, due)
  local _, score, head = line_of(topic_of(id))
  if head == id then write_line(topic_of(id), due and ms_of(due) or 0, score, id) end
end

-- Returns the first job of a fifo topic and its score. If a job was held before its topic became fifo, its score is the
-- end of its hold. If this job was due before all others, it gets its own due time as its score again, so it is the
-- first.
local function first_with_held(topic)
  local bucket = bucket_of(topic)
  local first = call('ZRANGE', bucket, 0, 0, 'WITHSCORES')
  local held = first[1] and has(HELD) and call('ZRANGE', held_of(topic), 0, 0, 'WITHSCORES') or {}
  if not held[1] or tonumber(held[2]) >= tonumber(first[2]) then return first end
  local place = call('ZSCORE', bucket, held[1])
  if not place then return first end
  call('ZADD', bucket, held[2], held[1])
  write_line(topic, math.max(ms_of(place), tonumber(line_of(topic) or 0)), held[2], held[1])
  return held
end

-- Updates the line and the head of a fifo topic. The head stays the first job, even if a job with an earlier score is
-- added: because both are due in the same ms, or because the clock has stepped back. Returns the score of the head, or
-- false if the topic has no job.
local LINE_STEP = 1 / 2048 -- as in places.lua
-- rare: line
local function keep_line(topic)
  local first = first_with_held(topic)
  local at, score, id = line_of(topic)
  if not at or id == first[1] and tonumber(score) == tonumber(first[2]) then return first[2] or false end
  local place = call('ZSCORE', bucket_of(topic), id)
  if not place or tonumber(place) ~= tonumber(score) then
    call('HDEL', LINES, topic)
    return first[2] or false
  end
  score = string.format('%.17g', tonumber(first[2]) - LINE_STEP)
  call('ZADD', bucket_of(topic), score, id)
  write_line(topic, at, score, id)
  return score
end
