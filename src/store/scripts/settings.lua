#!lua flags=allow-oom
-- settings.lua - writes the settings of topics, unless they have changed since the caller read them.
--
-- ARGV from 2: topic, or '*' for all topics; the text that was read, or empty, or '*' for any text; the text
--      to write, or empty to remove the settings; ...
-- Returns {now_us, 1 done or 0 changed, ...}.
-- uses: ended places probe
probe()
local function apply(topic, new)
  if new == '' or not cjson.decode(new).rate then
    call('HDEL', RATES, topic)
    call('DEL', begun_of(topic))
  end
  touch(topic, 'all')
  touch_dead(topic)
  local first_sibling = call('ZRANGE', NAMES, '[' .. topic .. '~', '(' .. topic .. '\127', 'BYLEX', 'LIMIT', 0, 1)[1]
  if first_sibling then call('HSET', META, 'redate', '0') end -- its dead jobs go by the same retention
end

local replies = {now_us}
for i = 2, #ARGV, 3 do
  local topic, old, new = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local key = topic == '*' and PATTERNS or TOPICS
  if old ~= '*' and (call('HGET', key, topic) or '') ~= old then
    replies[#replies + 1] = 0
  else
    if new == '' then
      call('HDEL', key, topic)
    else
      call('HSET', key, topic, new)
      is_there[key] = true
    end
    if topic == '*' then
      call('HSET', META, 'redate', '0')
    else
      apply(topic, new)
    end
    replies[#replies + 1] = 1
  end
end
date_dead_topics()
finish()
return replies
