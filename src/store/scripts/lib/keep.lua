-- keep.lua - called when jobs end as delivered or cancelled. Keeps such jobs readable if their topic has a retention,
-- and puts them into the outbox (outbox.lua) if a history is on.
-- uses: attempts crashes ended outbox

-- Returns whether the topic has a retention: its jobs are then kept after they have ended.
-- rare: ended
local function keeps_ended(topic) return retention_of(topic) ~= nil end

-- Keeps a job that ends now. line: the line of its last attempt, or nothing. reason: of a cancelled job, or nothing.
-- rare: ended
local function keep_job(id, state, line, reason)
  local is_kept, is_archived = has_settings() and retention_of(topic_of(id)), has_history()
  if not is_kept and not is_archived then return end
  local record, lines = call('HGET', JOBS, id), lines_of(id)
  if not record then return end
  local losses = has(CRASHES) and losses_of(id) or 0
  if line ~= '' then lines = with_attempt(lines, line or '') end
  if is_kept then
    keep(id, state, now, losses, record, lines, reason)
  else
    record_bytes_left = record_bytes_left - #record - #lines
    archive(id, state, now, losses, record, lines, reason)
  end
end
