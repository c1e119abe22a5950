#!lua flags=allow-oom
-- sweep.lua - a bounded step through what has been kept for long enough: jobs that have ended, by the retention of their
-- topics, and dead ones, by that and by the server's bounds.
--
-- ARGV[2] the most jobs to remove, and topics to look at   [3] how long a dead one is kept at most, ms; 0: no bound
-- ARGV[4] the most dead ones, of which the oldest go; 0: no bound
-- Returns {now_us, how many that had ended, how many dead ones by their topic's retention, by their age, by their number,
-- 1 when there may be more to do now}.
-- uses: ended probe
local most, age_ms, dead_max = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local left = most
probe()

-- Removes these jobs from key, which is dead or kept_until, and from the indexes of these states: all at once, since there
-- may be very many.
local function drop(ids, key, states)
  if #ids == 0 then return 0 end
  local topics, by_topic = {}, {}
  for i = 1, #ids do
    local topic = topic_of(ids[i])
    if not by_topic[topic] then
      by_topic[topic] = {}
      topics[#topics + 1] = topic
    end
    table.insert(by_topic[topic], ids[i])
  end
  call('HDEL', KEPT, unpack(ids))
  call('ZREM', key, unpack(ids))
  for t = 1, #topics do
    for s = 1, #states do call('ZREM', index_of(states[s], topics[t]), unpack(by_topic[topics[t]])) end
    if key == DEAD then touch_dead(topics[t]) end
    doubt_name(topics[t])
  end
  left = left - #ids
  return #ids
end
local function drop_dead(ids) return drop(ids, DEAD, {'dead'}) end

local ended = drop(call('ZRANGEBYSCORE', KEPT_UNTIL, '-inf', now, 'LIMIT', 0, left), KEPT_UNTIL, {'delivered', 'cancelled'})

-- A topic that is here has a dead job whose time is over, or another retention since.
local by_retention = 0
local topics = call('ZRANGEBYSCORE', DEAD_DUE, '-inf', now, 'LIMIT', 0, most)
for i = 1, #topics do
  local retention = retention_of(topics[i])
  if left == 0 then break end
  touch_dead(topics[i])
  if retention then
    local last = integer(now - retention)
    by_retention = by_retention + drop_dead(call('ZRANGEBYSCORE', index_of('dead', topics[i]), '-inf', last, 'LIMIT', 0, left))
  end
end

local by_age, by_number = 0, 0
if age_ms > 0 then by_age = drop_dead(call('ZRANGEBYSCORE', DEAD, '-inf', integer(now - age_ms), 'LIMIT', 0, left)) end
local excess = dead_max > 0 and call('ZCARD', DEAD) - dead_max or 0
if excess > 0 and left > 0 then by_number = drop_dead(call('ZRANGE', DEAD, 0, math.min(excess, left) - 1)) end
-- Another retention of all topics: each topic with dead jobs is dated anew.
local redate = call('HGET', META, 'redate')
if redate then
  local page = call('ZSCAN', DEAD_DUE, redate, 'COUNT', most)
  for i = 1, #page[2], 2 do touch_dead(page[2][i]) end
  redate = page[1] ~= '0' and page[1]
  if redate then call('HSET', META, 'redate', redate) else call('HDEL', META, 'redate') end
end
date_dead_topics()
return {now_us, ended, by_retention, by_age, by_number, (left == 0 or #topics == most or redate) and 1 or 0}
