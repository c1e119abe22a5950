-- trial.lua - writes a key and removes it again, so that duepost check can measure a write. No other script uses
-- this key.
--
-- Returns {now_us, 1}.

script('trial', {}, {}, function()
  probe_slot()
  call('SET', base .. 'trial', '1')
  call('DEL', base .. 'trial')
  return {now_us, 1}
end)
