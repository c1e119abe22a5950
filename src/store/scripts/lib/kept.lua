-- kept.lua - jobs that have ended and can still be read.
--
-- Kept jobs are not in the pool and do not occupy their ids, so a kept job and a job of the pool may have the
-- same id. Dead jobs are kept. Delivered and cancelled jobs are kept if their topic has a retention. If
-- several jobs with one id have ended, only the last of them is kept.
-- uses: kept_keys record

-- Returns a kept job: state, time, losses, record, lines, nonce or ''. Returns nothing if the id has no kept
-- job. If the text of the kept job has a form that duepost does not write, returns the text as the (unreadable) record
-- of a dead job. or_key, field: another hash with such texts, and the field that is read there if the id has no kept
-- job.
local function kept_job(id, or_key, field)
  local text = call('HGET', KEPT, id) or or_key and call('HGET', or_key, field)
  if not text then return end
  record_bytes_left = record_bytes_left - #text
  local state, at, losses, nonce, size, start = string.match(text, '^(%a+) (%d+) (%d+)/?(%S*) (%d+) ()')
  if not start then return 'dead', 0, 0, text, '', '' end
  local lines = start + tonumber(size)
  return state, tonumber(at), tonumber(losses), string.sub(text, start, lines - 1), string.sub(text, lines), nonce
end
