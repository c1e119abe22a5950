-- kept.lua - jobs that have ended and can still be read.
--
-- A job that has ended is not in the pool (the jobs that have not ended), and its id is free. So a kept job and a job
-- of the pool may have the same id. Dead jobs are always kept. Delivered and cancelled jobs are kept if their topic has
-- a retention. If several jobs with one id have ended, only the last of them is kept.
-- uses: kept_keys record

-- Returns the data of a kept job, as ended.lua describes it: state, time, losses, record, lines of attempts, and the
-- nonce of the lost consumer or ''. Returns nothing if there is no kept job with this id. If the stored text has a form
-- that duepost does not write, returns the whole text as the record of a dead job. or_key, field: if KEPT has no job
-- with this id, the text is read from this field of the hash or_key.
local function kept_job(id, or_key, field)
  local text = call('HGET', KEPT, id) or or_key and call('HGET', or_key, field)
  if not text then return end
  record_bytes_left = record_bytes_left - #text
  local state, at, losses, nonce, size, start = string.match(text, '^(%a+) (%d+) (%d+)/?(%S*) (%d+) ()')
  if not start then return 'dead', 0, 0, text, '', '' end
  local lines = start + tonumber(size)
  return state, tonumber(at), tonumber(losses), string.sub(text, start, lines - 1), string.sub(text, lines), nonce
end
