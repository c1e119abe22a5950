-- openings.lua - stores when topics with the setting windows open and close, which the caller has computed, and lists
-- topics for which it has to compute this (lib/openings.lua). A topic whose settings have changed since they were listed
-- is listed again.
--
-- ARGV[2] maximum number of topics to list
-- then for each topic: name; settings as they were listed; the spans 'opens closes opens closes ...', ms, or '-'
-- Returns {now_us, then for each listed topic: name, settings}.

script('openings', {'allow-oom'}, {Openings, Places}, function()
  if (#ARGV - 2) % 3 ~= 0 then error('wrong number of arguments') end
  probe()
  for i = 3, #ARGV, 3 do
    local topic, settings_text, spans = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if settings_text_of(topic) == settings_text then
      Openings.forget(topic)
      call('HSET', Openings.key(), topic, spans)
      call('SREM', Openings.wanted(), topic)
      Places.touch(topic, 'all')
    end
  end
  Places.finish()
  local replies = {now_us}
  for _, topic in ipairs(call('SRANDMEMBER', Openings.wanted(), ARGV[2])) do
    if settings_of(topic).windows then
      replies[#replies + 1], replies[#replies + 2] = topic, settings_text_of(topic)
    else
      Openings.forget(topic)
      call('SREM', Openings.wanted(), topic)
    end
  end
  return replies
end)
