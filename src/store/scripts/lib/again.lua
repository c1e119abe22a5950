-- again.lua - puts leased jobs back among the waiting jobs of their topic, for their next attempt.
-- uses: expiries line places topic

-- Puts a leased job back into its bucket, the sorted set of its topic's waiting jobs. due: the score that the job had
-- there before it was leased. at: the time at which its next attempt may begin, ms; if at is false, the job is due at
-- once, with its old score. In a fifo topic, the job keeps its old score, and all later jobs wait for this job, see
-- line.lua.
local function again(id, due, at)
  local keeps_place = has_settings() and is_fifo(topic_of(id))
  note_expiry_again(id)
  -- If at is before the old time, because the clock has stepped back, the job keeps its old time and so is not early.
  if keeps_place or not at or tonumber(due) > at then put_back(id, due) else put(id, at) end
  if keeps_place then hold_line(id, due, at or 0) end
end

-- Removes a topic's entry in LINES if the topic is no longer fifo. The entry (see line.lua) names the topic's first job
-- and the time at which its next attempt may begin. This time becomes the job's score in the bucket.
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
