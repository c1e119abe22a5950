#!lua flags=no-writes
-- read.lua - reads jobs.
--
-- ARGV from 2: id, ...
-- Returns {now_us, result ...}. A result is one of: {}: there is no such job {state, time, record, lost consumers,
--   settings of its topic or ''}: the job has not ended the same with two more members, if the job is kept or in the
--   outbox: time until which its retention keeps it, or 0;
--      and line of its last attempt, or ''
--   AGAIN: the call has read as many bytes as it may, so the caller must read this job with another call
-- A waiting job that has expired is dead, even before expire.lua has ended it. The time is when the job is due, when its lease ends, or when it ended.
-- uses: crashes head kept locate outbox until
local replies = {now_us}

local function read_kept(id)
  local is_kept = call('HEXISTS', KEPT, id) == 1
  local field = call('HGET', ENDED_LAST, id) or id
  if not is_kept and call('HEXISTS', ENDED, field) == 0 then return {} end
  if has_read_enough() then return RESULT_AGAIN end
  local state, at, losses, record, lines = kept_job(id, ENDED, field)
  return {state, at, record, losses, serving_text_of(topic_of(id)), is_kept and kept_until(id, state, at) or 0, last_line(lines)}
end

for i = 2, #ARGV do
  local id = ARGV[i]
  if call('HEXISTS', JOBS, id) == 0 then
    replies[i] = read_kept(id)
  else
    local record = answer_record(id)
    local state, score = locate(id)
    if record and state ~= 'leased' and is_expired(record) then state, score = 'dead', expiry_of(record) end
    replies[i] = record and {
      state or 'ready', -- an id in neither the leases nor the waiting jobs (lost data): the janitor will make the job ready
      tonumber(score) or now, record, losses_of(id), serving_text_of(topic_of(id)),
    } or RESULT_AGAIN
  end
end
return replies
