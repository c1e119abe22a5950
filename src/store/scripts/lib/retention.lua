-- retention.lua - how long jobs can be read after their end.
-- uses: settings topic

-- For how long a job of the topic can be read after its end, ms; nothing: not at all, but a dead one as long as the server's
-- bounds allow. A sibling topic has its owner's: its jobs may hold all of the owner's.
local function retention_of(topic)
  local seconds = setting_of(owner_of(topic), 'retention')
  return seconds and math.floor(seconds * 1000 + 0.5)
end
