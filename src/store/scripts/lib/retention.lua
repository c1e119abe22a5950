-- retention.lua - a topic's setting retention: how long its jobs can be read after they have ended.
-- uses: settings topic

-- Returns for how many ms a job of the topic can be read after its end. Returns nothing if the topic has no retention:
-- in this case, a dead job can be read as long as the server's limits allow, and other jobs cannot be read after their
-- end. A sibling topic (orders~callbacks) has the retention of its owner topic (orders), because its jobs may contain
-- all data of the owner's jobs.
local function retention_of(topic)
  local seconds = settings_of(owner_of(topic)).retention
  return seconds and math.floor(seconds * 1000 + 0.5)
end
