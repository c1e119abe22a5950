-- alerting.lua - which topics have alerts, and the alerts that have begun.
--
-- The set alerting has the topics whose own settings have the member alerts, and '*' if a pattern has it. While the set
-- does not exist, no process looks for alerts (carry.lua).
-- The hash alerts has the episodes (job/alert/alert.h): name -> state. It is in the shard of the topic duepost~alerts,
-- whose jobs report the begin and the end of each episode.

local Alerting = {uses = {}}

Alerting.TOPIC = 'duepost~alerts'

-- These keys have no names in keys.lua, because few installations have them.
local function key() return base .. 'alerting' end
function Alerting.episodes() return base .. 'alerts' end

function Alerting.is_used() return call('EXISTS', key()) == 1 end

-- Returns whether settings, a text as topic_settings_write has written it, may have the member alerts.
function Alerting.are_in(text) return string.find(text, '"alerts":[', 1, true) ~= nil end

-- Notes whether a topic, or any pattern ('*'), has alerts.
function Alerting.note(name, has_alerts) call(has_alerts and 'SADD' or 'SREM', key(), name) end

function Alerting.begin() end

return Alerting
