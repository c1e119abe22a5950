-- again.lua - gives back jobs whose claim is over, for their next attempt.
-- uses: line places topic

-- Puts a job back. due: its score, as its claim noted it. at: when it may go again, ms, or false for at once, with its
-- old place. In a fifo topic, it keeps its place and holds the line.
local function again(id, due, at)
  local keeps_place = has_settings() and is_fifo(topic_of(id))
  -- A clock that steps back does not make a job early.
  if keeps_place or not at or tonumber(due) > at then put_back(id, due) else put(id, at) end
  if keeps_place then hold_line(id, due, at or 0) end
end

-- A topic is no longer fifo: its head goes to the time of the line.
-- rare: line
local function leave_line(topic)
  local at, score, id = line_of(topic)
  if not at or has_settings() and is_fifo(topic) then return end
  local place, held_due = call('ZSCORE', bucket_of(topic), id), held_dues(topic, {id})[1]
  if place and tonumber(place) == tonumber(score) and tonumber(at) > ms_of(place) then
    put(id, at)
    if held_due then hold(topic, id, held_due) end
  end
  call('HDEL', LINES, topic)
end
