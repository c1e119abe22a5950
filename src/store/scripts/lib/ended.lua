-- ended.lua - jobs that have ended: reads them, and is their only writer.

local Ended = {uses = {Attempts, Expiries, Hours, Lanes, Names, Outbox, Records, Stream, Waited}}

-- ---- reading ----

-- A job that has ended is not in the pool (the jobs that have not ended), and its id is free. So a kept job and a job
-- of the pool may have the same id. Dead jobs are always kept. Delivered and cancelled jobs are kept if their topic has
-- a retention. If several jobs with one id have ended, only the last of them is kept.

-- Returns the data of a kept job, as Ended.keep writes it: state, time, losses, record, lines of attempts, and the
-- nonce of the lost consumer or ''. Returns nothing if there is no kept job with this id. If the stored text has a form
-- that duepost does not write, returns the whole text as the record of a dead job. or_key, field: if KEPT has no job
-- with this id, the text is read from this field of the hash or_key.
function Ended.read(id, or_key, field)
  local text = call('HGET', KEPT, id) or or_key and call('HGET', or_key, field)
  if not text then return end
  Records.bytes_left = Records.bytes_left - #text
  local state, at, losses, nonce, size, start = string.match(text, '^(%a+) (%d+) (%d+)/?(%S*) (%d+) ()')
  if not start then return 'dead', 0, 0, text, '', '' end
  local lines = start + tonumber(size)
  return state, tonumber(at), tonumber(losses), string.sub(text, start, lines - 1), string.sub(text, lines), nonce
end

-- Returns the time until which a job is kept, ms, or 0 for a dead job whose topic has no retention. at: when the job
-- ended.
function Ended.kept_until(id, state, at)
  if state ~= 'dead' then return tonumber(call('ZSCORE', KEPT_UNTIL, id)) or now end
  local retention = retention_of(topic_of(id))
  return retention and at + retention or 0
end

function Ended.last_line(lines) return string.match(lines, '[^\n]*\n$') or '' end

-- ---- writing ----

-- The data of a job that has ended is in the hash "kept". Sorted sets, one for each state and topic (index_of), have
-- the times at which the jobs ended. The sorted set "dead" has these times for the dead jobs of all topics. The sorted
-- set "kept_until" has for each delivered or cancelled job the time at which the job will be removed.

-- Updates a topic's entry in the sorted set "dead_due". Each topic with dead jobs has an entry: the time at which its
-- oldest dead job will be removed because of the topic's setting retention, or inf if it has no retention. The dead
-- jobs themselves do not store this time. So a change of the retention changes only the topic's entry.
function Ended.date_dead(topic)
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
function Ended.touch_dead(topic)
  if not is_undated[topic] then
    is_undated[topic] = true
    undated[#undated + 1] = topic
  end
end

-- Updates the entries of the topics in the list undated. Called at the end of each script that ends jobs or changes
-- kept jobs.
function Ended.finish()
  for i = 1, #undated do Ended.date_dead(undated[i]) end
  Waited.finish()
  if #Outbox.ids > 0 then Outbox.write() end
  Names.write()
end

-- Removes all data of a kept job, even if a part of it is missing.
function Ended.drop(id)
  local topic = topic_of(id)
  call('HDEL', KEPT, id)
  if call('ZREM', DEAD, id) + call('ZREM', index_of('dead', topic), id) > 0 then Ended.touch_dead(topic) end
  if call('ZREM', KEPT_UNTIL, id) == 1 then
    call('ZREM', index_of('delivered', topic), id)
    call('ZREM', index_of('cancelled', topic), id)
  end
  Names.doubt(topic)
end

-- Stores the data of a job that has ended, in the form 'state time losses size record' and then the lines of its
-- attempts. time is when the job ended, losses how many of its consumers were lost, and size the bytes of the record.
-- If the job died because its consumer was lost, '/' and the nonce of the consumer follow losses, see fence.lua.
-- reason: of a cancelled job, or nothing; it is added to the record. Replaces a kept job with the same id. If a history
-- is on, the job is also added to the outbox (outbox.lua).
function Ended.keep(id, state, at, losses, record, lines, reason)
  local topic = topic_of(id)
  record = Records.with(record, 'progress', Attempts.progress(id))
  if has_history() then Outbox.add(id, state, at, losses, record, lines, reason) end
  record = Records.with_reason(record, reason)
  if call('HEXISTS', KEPT, id) == 1 then Ended.drop(id) end
  Records.bytes_left = Records.bytes_left - #record - #lines
  is_there[KEPT] = true
  call('HSET', KEPT, id, table.concat({state, integer(at), losses, #record}, ' ') .. ' ' .. record .. lines)
  call('ZADD', index_of(state, topic), integer(at), id)
  if state == 'dead' then
    call('ZADD', DEAD, integer(at), id)
    Ended.touch_dead(topic)
  else
    local kept_ms = math.max(retention_of(topic) or 0, Waited.is_ended(id) and Waited.KEPT_MS or 0)
    call('ZADD', KEPT_UNTIL, integer(at + kept_ms), id)
  end
end

-- ---- delivered and cancelled jobs ----

-- Delivered and cancelled jobs can be read if their topic has a retention, or a request waits for their end
-- (waited.lua). They get into the outbox (outbox.lua) if a history is on.

-- Returns whether the topic has a retention: its jobs are then kept after they have ended.
function Ended.keeps_all(topic) return retention_of(topic) ~= nil end

-- Returns whether a job that ends now may have to be kept.
function Ended.may_keep() return has_history() or has_settings() or Waited.is_used() end

-- Keeps a job that ends now. line: the line of its last attempt, or nothing. reason: of a cancelled job, or nothing.
-- result: of a delivered job, as JSON, or nothing.
function Ended.keep_job(id, state, line, reason, result)
  local is_awaited = reason ~= 'replaced' and Waited.take(id) -- the new job has the id of a replaced one
  local is_kept, is_archived = is_awaited or has_settings() and retention_of(topic_of(id)), has_history()
  if not is_kept and not is_archived then return end
  local record, lines = call('HGET', JOBS, id), Attempts.lines(id)
  if not record then return end
  local losses = has(CRASHES) and Attempts.losses(id) or 0
  if line ~= '' then lines = Attempts.with_line(lines, line or '') end
  record = Records.with(record, 'result', result)
  if is_kept then
    Ended.keep(id, state, now, losses, record, lines, reason)
  else
    Records.bytes_left = Records.bytes_left - #record - #lines
    Outbox.add(id, state, now, losses, Records.with(record, 'progress', Attempts.progress(id)), lines, reason)
  end
end

-- ---- dead jobs ----

-- Makes a job dead: removes it from the pool (the jobs that have not ended) and stores it as a dead job. The caller has
-- already removed the job's id from the leases or from the waiting jobs of its topic.
function Ended.bury(id, record, losses, line)
  Waited.take(id)
  Stream.add_end(topic_of(id), id, 'dead', line)
  Ended.keep(id, 'dead', now, losses, record, Attempts.with_line(Attempts.lines(id), line))
  call('HDEL', JOBS, id)
  Attempts.forget_losses(id)
  Attempts.forget({id})
  Hours.count_failure(topic_of(id), 'x', line)
end

-- ---- dead jobs that run again ----

-- Makes a dead job a job that has not ended. record: its new record; if absent, the job keeps its record. The caller
-- must then put its id among the waiting jobs, or end it in the same call.
function Ended.bring_back(id, record)
  local _, _, _, old, lines = Ended.read(id)
  call('HSET', JOBS, id, record or old)
  Expiries.note_of(id, record or old)
  Lanes.note_new(id, record or old)
  if lines ~= '' then
    call('HSET', ATTEMPTS, id, lines)
    is_there[ATTEMPTS] = true
  end
  Ended.drop(id)
end

function Ended.begin()
  if #undated > 0 then undated, is_undated = {}, {} end
end

return Ended
