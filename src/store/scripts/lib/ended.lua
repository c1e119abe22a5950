-- ended.lua - the only writer of jobs that have ended.
--
-- The data of a job that has ended is in the hash "kept". Sorted sets, one for each state and topic (index_of), have
-- the times at which the jobs ended. The sorted set "dead" has these times for the dead jobs of all topics. The sorted
-- set "kept_until" has for each delivered or cancelled job the time at which the job will be removed.
-- uses: clock has kept names outbox retention topic

-- Updates a topic's entry in the sorted set "dead_due". Each topic with dead jobs has an entry: the time at which its
-- oldest dead job will be removed because of the topic's setting retention, or inf if it has no retention. The dead
-- jobs themselves do not store this time. So a change of the retention changes only the topic's entry.
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

-- Topics whose entry in "dead_due" must be updated: this call has changed their dead jobs or their retention.
local undated, is_undated = {}, {}
local function touch_dead(topic)
  if not is_undated[topic] then
    is_undated[topic] = true
    undated[#undated + 1] = topic
  end
end

-- Updates the entries of the topics in the list undated. Called at the end of each script that ends jobs or changes
-- kept jobs.
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

-- Stores the data of a job that has ended, in the form 'state time losses size record' and then the lines of its
-- attempts. time is when the job ended, losses how many of its consumers were lost, and size the bytes of the record.
-- If the job died because its consumer was lost, '/' and the nonce of the consumer follow losses, see fence.lua.
-- reason: of a cancelled job, or nothing; it is added to the record. Replaces a kept job with the same id. If a history is on, the job is also added to the outbox (outbox.lua).
local function keep(id, state, at, losses, record, lines, reason)
  local topic = topic_of(id)
  if has_history() then archive(id, state, at, losses, record, lines, reason) end
  record = with_reason(record, reason)
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
