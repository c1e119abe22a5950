-- read.lua - reads jobs.
--
-- ARGV from 2: id, ...
-- Returns {now_us, result ...}. A result is one of: {}: there is no such job {state, time, record, lost consumers,
--   settings of its topic or ''}: the job has not ended the same with two more members, if the job is kept or in the
--   outbox: time until which its retention keeps it, or 0;
--      and line of its last attempt, or ''
--   AGAIN: the call has read as many bytes as it may, so the caller must read this job with another call
-- A job that a worker has leased, or whose end is deferred, has three more members: 0, '', and the progress, as JSON, or ''.
-- A waiting job that has expired is dead, even before expire.lua has ended it. The time is when the job is due, when its lease ends, or when it ended.

local function read_kept(id)
  local is_kept = call('HEXISTS', KEPT, id) == 1
  local field = call('HGET', ENDED_LAST, id) or id
  if not is_kept and call('HEXISTS', ENDED, field) == 0 then return {} end
  if Records.has_read_enough() then return RESULT.AGAIN end
  local state, at, losses, record, lines = Ended.read(id, ENDED, field)
  return {state, at, record, losses, serving_text_of(topic_of(id)), is_kept and Ended.kept_until(id, state, at) or 0, Ended.last_line(lines)}
end

script('read', {'no-writes'}, {Attempts, Ended, Leases, Records}, function()
  local replies = {now_us}
  for i = 2, #ARGV do
    local id = ARGV[i]
    if call('HEXISTS', JOBS, id) == 0 then
      replies[i] = read_kept(id)
    else
      local record = Records.read(id)
      local state, score = Leases.locate(id)
      if record and state ~= 'leased' and Records.is_expired(record) then state, score = 'dead', Records.expiry(record) end
      local is_workers = state == 'leased' and has(WORKERS.leases) and call('ZSCORE', WORKERS.leases, id)
      replies[i] = record and {
        state or 'ready', -- an id in neither the leases nor the waiting jobs (lost data): the janitor will make the job ready
        tonumber(score) or now, record, Attempts.losses(id), serving_text_of(topic_of(id)),
        is_workers and 0 or nil, is_workers and '' or nil, is_workers and (Attempts.progress(id) or '') or nil,
      } or RESULT.AGAIN
    end
  end
  return replies
end)
