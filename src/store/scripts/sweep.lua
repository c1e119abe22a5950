-- sweep.lua - one step of retention, of limited size. Removes delivered and cancelled jobs whose time is
-- over, and dead jobs beyond the retention of their topic or beyond the server's limits. After a step of the clock,
-- removes nothing by age for some time (lib/clock_steps.lua).
--
-- ARGV[2] maximum number of jobs to remove, and of topics that get new times (see redate) [3] maximum age of dead
--      jobs, ms; 0: no limit
-- ARGV[4] maximum number of dead jobs, beyond which the oldest are removed; 0: no limit
-- Returns {now_us, number of delivered and cancelled jobs removed, number of dead jobs removed by the
-- retention of their topic, by age, by number, how late the next removal is, ms, or -1 if nothing is left to
-- remove now}.

local most, age_ms, dead_max, left, rests

-- A step removes jobs in chunks, with few commands for each chunk. A step ends after the chunk that uses up the step's
-- time, so that large records or many topics block Redis for a few ms only.
local CHUNK, STEP_US = 64, 4000
local function may_go_on() return left > 0 and clock.spent_us() < STEP_US end

local function by_topic(ids)
  local topics, groups = {}, {}
  for i = 1, #ids do
    local topic = topic_of(ids[i])
    local group = groups[topic]
    if not group then
      group = {}
      groups[topic] = group
      topics[#topics + 1] = topic
    end
    group[#group + 1] = ids[i]
  end
  return topics, groups
end

-- Updates the entries of these topics in "dead_due", which has for each topic the time at which its first dead job is
-- removed. Often none of the topics has a dead job left, so one query for all of them comes first.
local function date_topics(topics)
  if not has(DEAD_DUE) then return end
  local keys = {}
  for i = 1, #topics do keys[i] = index_of('dead', topics[i]) end
  if call('EXISTS', unpack(keys)) == 0 then
    call('ZREM', DEAD_DUE, unpack(topics))
  else
    for i = 1, #topics do Ended.date_dead(topics[i]) end
  end
end

-- Returns whether none of these topics has jobs, kept jobs or settings, with one query for all of them.
local function are_bare(topics)
  local keys = {}
  for i = 1, #topics do
    local topic = topics[i]
    local n = 5 * i
    keys[n - 4], keys[n - 3] = holders_of(topic), bucket_of(topic)
    keys[n - 2], keys[n - 1], keys[n] = index_of('dead', topic), index_of('delivered', topic), index_of('cancelled', topic)
  end
  if call('EXISTS', unpack(keys)) > 0 then return false end
  for _, settings in ipairs(has(TOPICS) and call('HMGET', TOPICS, unpack(topics)) or {}) do
    if settings then return false end
  end
  return true
end

local function drop(ids, topics)
  call('HDEL', KEPT, unpack(ids))
  if are_bare(topics) then
    call('ZREM', NAMES, unpack(topics))
  else
    for i = 1, #topics do Names.doubt(topics[i]) end
    Names.write()
  end
  left = left - #ids
end

-- Removes these dead jobs, which are the first ones in DEAD.
local function drop_oldest_dead(ids)
  local topics, groups = by_topic(ids)
  call('ZREMRANGEBYRANK', DEAD, 0, #ids - 1)
  for i = 1, #topics do call('ZREM', index_of('dead', topics[i]), unpack(groups[topics[i]])) end
  date_topics(topics)
  drop(ids, topics)
end

local function sweep_ended()
  local number = 0
  while not rests and may_go_on() do
    local ids = call('ZRANGEBYSCORE', KEPT_UNTIL, '-inf', now, 'LIMIT', 0, math.min(left, CHUNK))
    if #ids == 0 then break end
    local topics, groups = by_topic(ids)
    call('ZREMRANGEBYRANK', KEPT_UNTIL, 0, #ids - 1)
    for i = 1, #topics do
      local group = groups[topics[i]]
      if call('ZREM', index_of('delivered', topics[i]), unpack(group)) < #group then
        call('ZREM', index_of('cancelled', topics[i]), unpack(group))
      end
    end
    drop(ids, topics)
    number = number + #ids
  end
  return number
end

-- Removes the oldest dead jobs of a topic from its index if they are older than retention (ms). Returns their ids.
local function take_over(topic, retention, most_of_topic)
  local key = index_of('dead', topic)
  local ids = call('ZRANGEBYSCORE', key, '-inf', integer(now - retention), 'LIMIT', 0, most_of_topic)
  if #ids > 0 then call('ZREMRANGEBYRANK', key, 0, #ids - 1) end
  return ids
end

-- Removes dead jobs by retention. When the time of a topic in "dead_due" has come, its oldest dead job must be removed,
-- unless the topic's retention has changed.
local function sweep_by_retention()
  local number, topics_left = 0, most
  while not rests and topics_left > 0 and may_go_on() do
    local room = math.min(left, topics_left, CHUNK)
    local due, topics, ids = call('ZRANGEBYSCORE', DEAD_DUE, '-inf', now, 'LIMIT', 0, room), {}, {}
    if #due == 0 then break end
    for i = 1, #due do
      if #ids == room then break end
      local retention = retention_of(due[i])
      topics[i] = due[i]
      for _, id in ipairs(retention and take_over(due[i], retention, room - #ids) or {}) do ids[#ids + 1] = id end
    end
    if #ids > 0 then call('ZREM', DEAD, unpack(ids)) end
    date_topics(topics)
    if #ids > 0 then drop(ids, topics) end
    number, topics_left = number + #ids, topics_left - #topics
  end
  return number
end

local function sweep_by_age()
  local number, last = 0, integer(now - age_ms)
  while not rests and age_ms > 0 and may_go_on() do
    local ids = call('ZRANGEBYSCORE', DEAD, '-inf', last, 'LIMIT', 0, math.min(left, CHUNK))
    if #ids == 0 then break end
    drop_oldest_dead(ids)
    number = number + #ids
  end
  return number
end

local function sweep_by_number()
  local number = 0
  while dead_max > 0 and may_go_on() do
    local excess = call('ZCARD', DEAD) - dead_max
    if excess <= 0 then break end
    local ids = call('ZRANGE', DEAD, 0, math.min(excess, left, CHUNK) - 1)
    drop_oldest_dead(ids)
    number = number + #ids
  end
  return number
end

-- Gives topics with dead jobs a new time in "dead_due" after retentions have changed. One call does a step of a walk.
local function redate()
  local cursor = call('HGET', META, 'redate')
  if not cursor then return end
  local page = call('ZSCAN', DEAD_DUE, cursor, 'COUNT', most)
  for i = 1, #page[2], 2 do Ended.touch_dead(page[2][i]) end
  Ended.finish()
  if page[1] == '0' then call('HDEL', META, 'redate') else call('HSET', META, 'redate', page[1]) end
  return page[1] ~= '0'
end

-- Removes entries of the hash RATES (lib/rates.lua) if there are many, because topics of a pattern with a rate come and
-- go. An entry whose time has passed has the same effect as no entry, so it can be removed.
local RATES_MAX, SOME_RATES = 1000, 200
local function sweep_rates()
  local removed = 0
  while may_go_on() and call('HLEN', RATES) > RATES_MAX do
    local entries, void = call('HRANDFIELD', RATES, SOME_RATES, 'WITHVALUES'), {}
    for i = 1, #entries, 2 do
      if (tonumber(entries[i + 1]) or 0) < now_us - Rates.CREDIT_US then void[#void + 1] = entries[i] end
    end
    if #void > 0 then call('HDEL', RATES, unpack(void)) end
    if #void < SOME_RATES / 4 then return end
  end
end

-- Removes entries of topics whose last span is over (lib/openings.lua) if there are many.
local function sweep_openings()
  while may_go_on() and call('HLEN', Openings.key()) > RATES_MAX do
    local entries, void = call('HRANDFIELD', Openings.key(), SOME_RATES, 'WITHVALUES'), {}
    for i = 1, #entries, 2 do
      if (tonumber(string.match(entries[i + 1], '%d+$')) or 0) <= now then void[#void + 1] = entries[i] end
    end
    if #void > 0 then call('HDEL', Openings.key(), unpack(void)) end
    if #void < SOME_RATES / 4 then return end
  end
end

local function first_of(key) return tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or 'inf') end

-- Returns how late the next removal is, ms; negative if there is nothing to remove. If there are more dead jobs than
-- dead_max, the oldest one has been overdue since the death of the job that is dead_max places after it.
local function lateness()
  local due = rests and math.huge or math.min(first_of(KEPT_UNTIL), first_of(DEAD_DUE))
  if age_ms > 0 and not rests then due = math.min(due, first_of(DEAD) + age_ms) end
  if dead_max > 0 then due = math.min(due, tonumber(call('ZRANGE', DEAD, dead_max, dead_max, 'WITHSCORES')[2] or 'inf')) end
  return due <= now and now - due or -1
end

script('sweep', {'allow-oom'}, {ClockSteps, Ended, Names, Openings, Rates}, function()
  most, age_ms, dead_max = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  left = most
  probe()
  rests = ClockSteps.removals_rest()
  local ended, by_retention, by_age, by_number = sweep_ended(), sweep_by_retention(), sweep_by_age(), sweep_by_number()
  sweep_rates()
  sweep_openings()
  local is_redating = redate()
  local late_ms = lateness()
  if is_redating and late_ms < 0 then late_ms = 0 end
  return {now_us, ended, by_retention, by_age, by_number, late_ms}
end)
