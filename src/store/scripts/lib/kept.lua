-- kept.lua - jobs that have ended and can still be read.
--
-- They are in no place of the pool and hold no id: a job of the pool and a kept one may share it. For each id the last job that
-- ended is kept: every dead one, and the delivered and cancelled ones of topics with a retention.
-- uses: kept_keys record

-- Returns a kept job: state, time, losses, record, lines, nonce or ''; nothing when the id has no kept job. A text that duepost
-- did not write counts as the unreadable record of a dead job.
local function kept_job(id)
  local text = call('HGET', KEPT, id)
  if not text then return end
  record_bytes_left = record_bytes_left - #text
  local state, at, losses, nonce, size, start = string.match(text, '^(%a+) (%d+) (%d+)/?(%S*) (%d+) ()')
  if not start then return 'dead', 0, 0, text, '', '' end
  local lines = start + tonumber(size)
  return state, tonumber(at), tonumber(losses), string.sub(text, start, lines - 1), string.sub(text, lines), nonce
end
