-- ended.lua - the only writer of jobs that have ended.
--
-- The data of an ended job is in kept. The time of its end is in an index for its state and topic. A dead job is
-- also in dead, which has the times of the dead jobs of all topics. A delivered or cancelled job is also in
-- "kept_until", with the time when the job is removed.
-- uses: clock has kept names outbox retention topic

-- Updates a topic's entry in "dead_due". Every topic with dead jobs has such an entry: the time at which the topic's
-- retention removes its first dead job, or inf without a retention. So when a retention changes, only this entry
-- changes, not each dead job.
-- rare: ended
local function date_dead(topic)
  local first = call('ZRANGE', index_of('dead', topic), 0, 0, 'WITHSCORES')[2]
  if not first then
    call('ZREM', DEAD_DUE, topic)
    return
  end
  local retention = retention_of(topic)
  call('ZADD', DEAD_DUE, retention and integer(tonumber(first) + retention) or 'inf', topic)
end

-- Topics of which this call has changed the dead jobs or the retention.
local undated, is_undated = {}, {}
local function touch_dead(topic)
  if not is_undated[topic] then
    is_undated[topic] = true
    undated[#undated + 1] = topic
  end
end

-- Updates the entries of these topics in "dead_due". Called at the end of each script that ends jobs or changes kept
-- jobs.
local function date_dead_topics()
  for i = 1, #undated do date_dead(undated[i]) end
  if #outbox_ids > 0 then write_outbox() end
  write_names()
end

-- Removes all data of a kept job, even if a part of it is missing.
local function drop_kept(id)
  local topic = topic_of(id)
  call('HDEL', KEPT, id)
  if call('ZREM', DEAD, id) + call('ZREM', index_of('dead', topic), id) > 0 then touch_dead(topic) end
  if call('ZREM', KEPT_UNTIL, id) == 1 then
    call('ZREM', index_of('delivered', topic), id)
    call('ZREM', index_of('cancelled', topic), id)
  end
  doubt_name(topic)
end

-- Stores the data of a job that has ended: 'state time losses size', a blank, size bytes of record, then the
-- lines of its attempts. If the job died because its consumer was lost, losses ends in '/' and the consumer's nonce,
-- see fence.lua. Replaces a kept job with the same id. If a history is on, the job is also added to the outbox.
local function keep(id, state, at, losses, record, lines)
  local topic = topic_of(id)
  if has_history() then archive(id, state, at, losses, record, lines) end
  if call('HEXISTS', KEPT, id) == 1 then drop_kept(id) end
  record_bytes_left = record_bytes_left - #record - #lines
  is_there[KEPT] = true
  call('HSET', KEPT, id, table.concat({state, integer(at), losses, #record}, ' ') .. ' ' .. record .. lines)
  call('ZADD', index_of(state, topic), integer(at), id)
  if state == 'dead' then
    call('ZADD', DEAD, integer(at), id)
    touch_dead(topic)
  else
    call('ZADD', KEPT_UNTIL, integer(at + (retention_of(topic) or 0)), id)
  end
end
