-- key_set.lua - writes or removes the settings of a key of a topic (lib/lanes.lua), unless they have changed since the caller
-- read them.
--
-- ARGV[2] topic   [3] key   [4] the text that was read, or ''   [5] the text to write, or '' to remove the settings
-- Returns {now_us, 1} if this is done, {now_us, 0} if the settings have changed.

script('key_set', {'allow-oom'}, {Lanes, Places}, function()
  local topic, key, old, new = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
  local name = Lanes.name(topic, key)
  probe()
  if (call('HGET', KEY_SETTINGS, name) or '') ~= old then return {now_us, 0} end
  if new == '' then
    call('HDEL', KEY_SETTINGS, name)
  else
    raise_format(FORMAT.LANES)
    call('HSET', KEY_SETTINGS, name, new)
    is_there[KEY_SETTINGS] = true
  end
  Lanes.note_settings(topic, key, new ~= '')
  Places.touch(topic, 'all')
  Places.finish()
  return {now_us, 1}
end)
