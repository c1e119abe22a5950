-- until.lua - data of a kept job that is not in its record.
-- uses: clock kept retention topic

-- Until when a job is kept that ended so then; 0: its topic does not say.
local function kept_until(id, state, at)
  if state ~= 'dead' then return tonumber(call('ZSCORE', KEPT_UNTIL, id)) or now end
  local retention = retention_of(topic_of(id))
  return retention and at + retention or 0
end

local function last_line(lines) return string.match(lines, '[^\n]*\n$') or '' end
