-- keep.lua - keeps jobs that leave the pool, if their topic has a retention.
-- uses: attempts crashes ended

-- Returns whether a job of the topic is kept when it has ended.
-- rare: ended
local function keeps_ended(topic) return retention_of(topic) ~= nil end

-- rare: ended
local function keep_job(id, state, line)
  local record = retention_of(topic_of(id)) and call('HGET', JOBS, id)
  if not record then return end
  keep(id, state, now, has(CRASHES) and losses_of(id) or 0, record, with_attempt(lines_of(id), line or ''))
end
