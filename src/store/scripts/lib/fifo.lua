-- fifo.lua - fifo topics: no job of the topic is attempted before the job ahead of it has ended.

local Fifo = {uses = {Holds, Ranks}}

-- ---- lines ----

-- The head of a fifo topic is the first job in its bucket, the sorted set of its waiting jobs. If an attempt of the
-- head fails, the head keeps its score, so it stays first. The time of its next attempt is then stored in the topic's
-- line, an entry in the hash LINES: topic -> 'time score id', with the head's score and id. Until that time, no job of
-- the topic is attempted. A line whose score and id are not those of the current head has no effect.

function Fifo.write_line(name, at, score, id)
  call('HSET', LINES, name, table.concat({integer(at), score, id}, ' '))
  is_there[LINES] = true
end

-- Returns the name of the line in which a job stands: its topic, or its lane (lanes.lua) if the setting perKey.order is
-- 'fifo'. Returns nothing if jobs behind it need not wait for it.
function Fifo.line_of(id)
  if not has_settings() then return end
  local topic = topic_of(id)
  if is_fifo(topic) then return topic end
  local lane = has(RANKS) and topic .. '\n' .. Ranks.key_in(Ranks.of(id))
  return lane and settings_of(lane).order == 'fifo' and lane or nil
end

-- Returns time, score and id of a topic's line, or nothing if it has no line.
function Fifo.line(topic)
  local line = has(LINES) and call('HGET', LINES, topic)
  if line then return string.match(line, '^(%d+) (%S+) (.+)$') end
end

-- Returns the time, ms, before which a line's head may not be attempted, or nothing if it may be attempted now.
function Fifo.wait_at(name, head_id, head_score)
  local at, score, id = Fifo.line(name)
  if at and tonumber(at) > now and head_id == id and tonumber(head_score) == tonumber(score) then return at end
end

-- Returns the time, ms, before which the head of a fifo topic may not be attempted, or nothing if it may be attempted
-- now. The head may still stand in the line of its lane.
function Fifo.wait_until(topic)
  if not has(LINES) then return end
  local head = call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')
  if not head[1] then return end
  local at = Fifo.wait_at(topic, head[1], head[2])
  if at or not has(RANKS) then return at end
  return Fifo.wait_at(topic .. '\n' .. Ranks.key_in(Ranks.of(head[1])), head[1], head[2])
end

-- Writes the line for a job that is put back into the bucket. at: the time of its next attempt. A topic has only one
-- line. So if several jobs were being attempted when the topic became fifo, and all are put back, the line has the
-- first of these jobs and the latest of their times. If this first job is then cancelled, or the topic stops being
-- fifo, the other jobs are due at once, although they should wait longer.
function Fifo.hold(id, due, at)
  local name = Fifo.line_of(id)
  local old_at, old_due, old_id = Fifo.line(name)
  at = math.max(at, ms_of(due)) -- not before its due time, even if the clock has stepped back
  if old_at and old_id ~= id then
    at = math.max(at, tonumber(old_at))
    if tonumber(old_due) < tonumber(due) then id, due = old_id, old_due end
  end
  Fifo.write_line(name, at, due, id)
end

-- If a line has this job, sets the line's time to due, or to 0 if due is absent, so that the job may be
-- claimed at once. The line stays until the job is claimed, so the job stays the head even if the clock steps back. The
-- caller must then touch the topic (places.lua).
function Fifo.let_go(id, due)
  local name = Fifo.line_of(id)
  local _, score, head = Fifo.line(name)
  if head == id then Fifo.write_line(name, due and ms_of(due) or 0, score, id) end
end

-- Writes another score of a waiting job.
function Fifo.move(id, score)
  local topic = topic_of(id)
  call('ZADD', bucket_of(topic), score, id)
  if has_lanes then call('ZADD', lane_of(topic, Ranks.of(id)), 'XX', score, id) end
end

-- Returns the head of a fifo topic and its score. A job that was held before its topic became fifo has the end of its
-- hold as its score, which may be later than the scores of jobs behind it. If such a job was due before all others,
-- gives it its due time as its score again, so that it is the head, and writes the end of the hold into the line.
local function first_with_held(topic)
  local bucket = bucket_of(topic)
  local first = call('ZRANGE', bucket, 0, 0, 'WITHSCORES')
  local held = first[1] and has(HELD) and call('ZRANGE', Holds.key(topic), 0, 0, 'WITHSCORES') or {}
  if not held[1] or tonumber(held[2]) >= tonumber(first[2]) then return first end
  local place = call('ZSCORE', bucket, held[1])
  if not place then return first end
  Fifo.move(held[1], held[2])
  Fifo.write_line(topic, math.max(ms_of(place), tonumber(Fifo.line(topic) or 0)), held[2], held[1])
  return held
end

-- Keeps the job that the line names at the head of a fifo topic. A job with an earlier score may have been added, for
-- example after the clock has stepped back; then the job of the line gets a score just below it, but is not attempted
-- before its own due time. Removes a line whose job has left the bucket or has another score. Returns the score of the
-- head, or false if the topic has no waiting job.
local LINE_STEP = 1 / 2048 -- as in places.lua
function Fifo.keep_first(topic)
  local first = first_with_held(topic)
  local at, score, id = Fifo.line(topic)
  if not at or id == first[1] and tonumber(score) == tonumber(first[2]) then return first[2] or false end
  local place = call('ZSCORE', bucket_of(topic), id)
  if not place or tonumber(place) ~= tonumber(score) then
    call('HDEL', LINES, topic)
    return first[2] or false
  end
  at = math.max(tonumber(at), ms_of(score)) -- Fifo.let_go may have written an earlier time
  score = string.format('%.17g', tonumber(first[2]) - LINE_STEP)
  Fifo.move(id, score)
  Fifo.write_line(topic, at, score, id)
  return score
end

-- ---- paused topics ----

-- Pauses the topic of a job that has died, if the topic's setting onHeadDead is 'pause'. C writes the settings as JSON
-- in which paused and pauseReason are the first members; this function writes the same form.
function Fifo.pause_after(id)
  local topic = topic_of(id)
  local own = settings_of(topic)
  if own.paused or own.onHeadDead ~= 'pause' then return end
  local rest = string.gsub(settings_texts[topic] or '{}', '^{"paused":false,?', '{')
  local job_id = string.gsub(string.sub(id, #topic + 2), '[\\"]', '\\%0')
  local text = '{"paused":true,"pauseReason":"job ' .. job_id .. ' is dead"' .. (rest == '{}' and '' or ',') .. string.sub(rest, 2)
  call('HSET', TOPICS, topic, text)
  note_settings_key(TOPICS, true)
  note_settings(topic, text)
end

return Fifo
