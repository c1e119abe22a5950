-- symptoms.lua - reads the facts by which alerts are decided (job/alert/alert.h). Looks at a bounded number of topics:
-- those with the most failures, those with the most jobs for their quota, some with due jobs, and those that the caller
-- names. So the time does not grow with what is merely there.
--
-- ARGV[2] number of topics that the caller names, because alerts about them have begun; then these topics; then receivers,
--      for the same reason
-- Returns {now_us, number of the present part of the hour (lib/hours.lua), settings of the pattern '*' or '', age of the
-- oldest job in the outbox, ms, topics, receivers}. The last two and the age are empty and 0 if no pattern '*' has alerts.
-- A topic is {name, settings or '', delivered, failed, deaths, due time of the first waiting job or -1, pending, quota or -1,
-- jobIds of the last dead jobs ...}, see Hours.lately. Topics that the caller does not name are listed if their settings
-- have alerts. receivers are name, record or '', name, ...

local LOOK, TOPICS_MAX, DEAD_LOOK = 100, 200, 5

-- A sibling topic (orders~callbacks) has the alerts of its owner. The jobs that report alerts raise none.
local topics, is_known
local function add(names, are_named)
  fetch_settings(names)
  for i = 1, #names do
    local topic = names[i]
    if not is_known[topic] and topic ~= Alerting.TOPIC and (are_named or #topics < TOPICS_MAX and settings_of(owner_of(topic)).alerts) then
      topics[#topics + 1] = topic
    end
    is_known[topic] = true
  end
end

local function first_due(topic)
  local first = call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')[2]
  local held = has(HELD) and call('ZRANGE', Holds.key(topic), 0, 0, 'WITHSCORES')[2]
  local due = math.min(first and ms_of(first) or math.huge, held and ms_of(held) or math.huge)
  return due < math.huge and due or -1
end

local function read(topic)
  local delivered, failed, deaths = Hours.lately(topic)
  local facts = {topic, serving_text_of(topic), delivered, failed, deaths, first_due(topic), Quotas.pending(topic), Quotas.of(topic) or -1}
  for _, id in ipairs(call('ZRANGE', index_of('dead', topic), 0, DEAD_LOOK - 1, 'REV')) do
    facts[#facts + 1] = string.match(id, '/(.*)$')
  end
  return facts
end

local receivers, is_listed
local function add_receivers(names)
  for i = 1, #names do
    local record = not is_listed[names[i]] and (call('HGET', RECEIVERS, names[i]) or '')
    is_listed[names[i]] = true
    if record then
      receivers[#receivers + 1] = names[i]
      receivers[#receivers + 1] = tonumber(string.match(record, '%d+$') or 0) > now - REPORTED_KEPT_MS and record or ''
    end
  end
end

local function outbox_age()
  local first = call('LRANGE', ENDED_READ, 0, 0)[1] or call('LRANGE', ENDED_IDS, 0, 0)[1]
  local at = first and string.match(call('HGET', ENDED, first) or '', '^%a+ (%d+) ')
  return at and math.max(now - tonumber(at), 0) or 0
end

script('symptoms', {'no-writes'}, {Alerting, Holds, Hours, Quotas}, function()
  local number = tonumber(ARGV[2])
  local all = has(PATTERNS) and call('HGET', PATTERNS, '*') or ''
  topics, is_known, receivers, is_listed = {}, {}, {}, {}
  add({unpack(ARGV, 3, 2 + number)}, true)
  if Alerting.is_used() then
    add(Hours.failing_lately(LOOK))
    add(Quotas.largest(LOOK))
    for _, key in ipairs({HELD, TURNS, BEHIND}) do add(call('ZRANGE', key, 0, LOOK - 1)) end
    add(call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, LOOK))
  end
  add_receivers({unpack(ARGV, 3 + number)})
  local is_for_all = Alerting.are_in(all)
  if is_for_all then add_receivers(call('ZRANGE', REPORTED, 0, LOOK - 1, 'REV')) end
  local replies = {now_us, Hours.part(), is_for_all and all or '', is_for_all and outbox_age() or 0, {}, receivers}
  for i = 1, #topics do replies[5][i] = read(topics[i]) end
  return replies
end)
