-- symptoms.lua - reads the facts by which alerts are decided (job/alert/alert.h). Looks at a bounded number of topics:
-- those with the most failures, those with the most jobs for their quota, some with due jobs, and those that the caller
-- names; and at a bounded number of schedules that are missed. So the time does not grow with what is merely there.
--
-- ARGV[2] number of topics that the caller names, because alerts about them have begun   [3] number of schedules that it
--      names, for the same reason   [4] receivers are listed whose certificates end within this time, ms; 0: none
-- then these topics; then these schedules; then receivers that the caller names, for the same reason
-- Returns {now_us, number of the present part of the hour (lib/hours.lua), settings of the pattern '*' or '', age of the
-- oldest job in the outbox, ms, topics, receivers, schedules}. The receivers are empty, and the age is 0, if no pattern '*'
-- has alerts.
-- A topic is {name, settings or '', delivered, failed, deaths, due time of the first waiting job or -1, pending, quota or -1,
-- jobIds of the last dead jobs ...}, see Hours.lately. Topics that the caller does not name are listed if their settings
-- have alerts. receivers are name, record or '', until when its certificate is valid, ms, or -1, name, ... A schedule is {id, settings of its topic or '', when it is
-- missed, ms, or -1, when an occurrence was last delivered, ms, or 0}, see lib/expected.lua.

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
  local ends = Certificates.of(names)
  for i = 1, #names do
    local record = not is_listed[names[i]] and (call('HGET', RECEIVERS, names[i]) or '')
    is_listed[names[i]] = true
    if record then
      receivers[#receivers + 1] = names[i]
      receivers[#receivers + 1] = tonumber(string.match(record, '%d+$') or 0) > now - REPORTED_KEPT_MS and record or ''
      receivers[#receivers + 1] = ends[i]
    end
  end
end

local function read_schedules(names)
  local schedules, is_named, owners = {}, {}, {}
  for i = 1, #names do is_named[names[i]] = true end
  local missed = Expected.is_used() and Alerting.is_used()
    and call('ZRANGE', Expected.until_key(), '-inf', now, 'BYSCORE', 'LIMIT', 0, LOOK + #names) or {}
  for i = 1, #missed do owners[i] = owner_of(topic_of(missed[i])) end
  fetch_settings(owners)
  for i = 1, #missed do
    if not is_named[missed[i]] and settings_of(owners[i]).alerts then names[#names + 1] = missed[i] end
  end
  for i = 1, #names do schedules[i] = {names[i], serving_text_of(topic_of(names[i])), Expected.shown(names[i])} end
  return schedules
end

local function outbox_age()
  local first = call('LRANGE', ENDED_READ, 0, 0)[1] or call('LRANGE', ENDED_IDS, 0, 0)[1]
  local at = first and string.match(call('HGET', ENDED, first) or '', '^%a+ (%d+) ')
  return at and math.max(now - tonumber(at), 0) or 0
end

script('symptoms', {'no-writes'}, {Alerting, Certificates, Expected, Holds, Hours, Quotas}, function()
  local topic_count, schedule_count = tonumber(ARGV[2]), tonumber(ARGV[3])
  local first_schedule, first_receiver = 5 + topic_count, 5 + topic_count + schedule_count
  local all = has(PATTERNS) and call('HGET', PATTERNS, '*') or ''
  topics, is_known, receivers, is_listed = {}, {}, {}, {}
  add({unpack(ARGV, 5, first_schedule - 1)}, true)
  if Alerting.is_used() then
    add(Hours.failing_lately(LOOK))
    add(Quotas.largest(LOOK))
    for _, key in ipairs({HELD, TURNS, BEHIND}) do add(call('ZRANGE', key, 0, LOOK - 1)) end
    add(call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, LOOK))
  end
  add_receivers({unpack(ARGV, first_receiver)})
  local is_for_all = Alerting.are_in(all)
  if is_for_all then
    add_receivers(call('ZRANGE', REPORTED, 0, LOOK - 1, 'REV'))
    if ARGV[4] ~= '0' then add_receivers(Certificates.ending(tonumber(ARGV[4]), LOOK)) end
  end
  local replies = {now_us, Hours.part(), is_for_all and all or '', is_for_all and outbox_age() or 0, {}, receivers, read_schedules({unpack(ARGV, first_schedule, first_receiver - 1)})}
  for i = 1, #topics do replies[5][i] = read(topics[i]) end
  return replies
end)
