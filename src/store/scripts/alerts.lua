-- alerts.lua - lists the alerts that have begun, see lib/alerting.lua.
--
-- Returns {now_us, then for each: name, state}.

script('alerts', {'no-writes'}, {Alerting}, function()
  return {now_us, unpack(call('HGETALL', Alerting.episodes()))}
end)
