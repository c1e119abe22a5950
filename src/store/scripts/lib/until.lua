-- until.lua - computes until when a kept job (a job that has ended) can be read; finds its last attempt.
-- uses: clock kept retention topic

-- Returns the time until which a job is kept, ms, or 0 for a dead job whose topic has no retention. at: when the job
-- ended.
local function kept_until(id, state, at)
  if state ~= 'dead' then return tonumber(call('ZSCORE', KEPT_UNTIL, id)) or now end
  local retention = retention_of(topic_of(id))
  return retention and at + retention or 0
end

local function last_line(lines) return string.match(lines, '[^\n]*\n$') or '' end
