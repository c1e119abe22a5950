-- keep.lua - keeps a job that ends, where its topic has a retention.
-- uses: attempts clock crashes kept record settings topic

-- For how long a job of the topic can be read after its end, ms; nothing: not at all, but a dead one for ever.
local function retention_of(topic)
  local seconds = settings_of(topic).retention
  return seconds and math.floor(seconds * 1000 + 0.5)
end

-- What can be read of a job that ends in this state, where its topic has a retention: 'state time losses size', a
-- blank, as many bytes of record, then the lines of its attempts. It takes the place of an earlier one of its id.
local function keep_job(id, state, at, line)
  local retention = retention_of(topic_of(id))
  local record = retention and call('HGET', JOBS, id)
  if not record then return end
  local lines = with_attempt(has(ATTEMPTS) and call('HGET', ATTEMPTS, id) or '', line or '')
  record_bytes_left = record_bytes_left - #record - #lines
  local head = table.concat({state, integer(at), has(CRASHES) and losses_of(id) or 0, #record}, ' ')
  call('HSET', KEPT, id, head .. ' ' .. record .. lines)
  call('ZADD', KEPT_UNTIL, integer(at + retention), id)
end
