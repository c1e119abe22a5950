-- again.lua - puts jobs back into their bucket after their claim, for their next attempt.
-- uses: line places topic

-- Puts a job back into its bucket. due: the job's score before the claim. at: the time at which its next attempt may
-- begin, ms; if false, the job is due at once, with its old score. In a fifo topic, the job keeps its place, and all
-- later jobs wait for it, see line.lua.
local function again(id, due, at)
  local keeps_place = has_settings() and is_fifo(topic_of(id))
  -- If the clock has stepped back, the job keeps its old time, so that it is not early.
  if keeps_place or not at or tonumber(due) > at then put_back(id, due) else put(id, at) end
  if keeps_place then hold_line(id, due, at or 0) end
end

-- Removes the line (see line.lua) of a topic that is no longer fifo. The job that the line held then waits in the
-- bucket until the time of the line.
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
