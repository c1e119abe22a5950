-- topics.lua - reads the current state of one topic, or of a page of topics with jobs, kept jobs or settings,
-- by name.
--
-- ARGV[2] a topic, or empty for a page   [3] the name after which the page begins, or empty   [4] maximum
--      number of topics   [5] 1 for a page of the most urgent topics, followed by topics that fail and by those
--      of the topics with a quota that have the most jobs; 2 for a page of the
--      topics that fail, those with the most failures first; else 0 or absent
-- Returns {now_us, 1 if there are more topics, then for each topic: name, settings or '', delayed, ready, leased, dead,
-- due time of the first waiting job or -1, time until which the first ready job may not be attempted, ms, or -1 if it
-- may be attempted, or -2 if this does not depend on time (the topic is paused, for example); number of held jobs, see
-- holds.lua; delivered, retried and dead within the last hour; the topic's own settings or '', its longest pattern or
-- ''; id of the job for which a fifo topic waits or ''; for a rate with a window, when the window under way began, ms,
-- and the number of its attempts, else 0 and 0; 1 if the topic holds jobs because neither they nor the topic have a url,
-- else 0; 1 if the topic fails (hours.lua), else 0; the last answer to a failed attempt within the hour or ''; the topic's quota (quotas.lua) or -1; when the windows of
-- the topic let the next attempt begin, ms, or -1 if they let it now, or -2 if this is not known yet; 1 if the first ready job waits for its
-- batch, 2 if the topic is closed because the zone of a window is unknown (openings.lua), else 0}. If [2] is a pull topic with leases, the start of the oldest lease
-- follows, ms; if there are very many leases, only some are examined. If a topic has many ready jobs, only some of them
-- are examined, to find held jobs whose hold has ended. A page ends early if it has some MiB of settings.

local most

local function held(topic, due)
  if due == -1 or due > now then return -1 end
  local at, by = Turns.held_until(topic, due)
  return not at and -1 or at == 'inf' and -2 or tonumber(at), by
end

-- Returns the id of the job that must end before other jobs of a fifo topic are attempted: a job in flight, a cancelled
-- job whose attempt still runs, or else the first waiting job.
local function line_head_of(topic)
  if not is_fifo(topic) then return '' end
  local holder = call('HRANDFIELD', holders_of(topic))
  if holder then return string.match(holder, '^[^\n]+') end
  return call('ZRANGE', bucket_of(topic), 0, 0)[1] or ''
end

local LEASES_LOOK = 1000
local function first_lease(topic)
  if not is_pull(topic) then return end
  local holders, first = call('HRANDFIELD', holders_of(topic), LEASES_LOOK, 'WITHVALUES'), nil
  for i = 2, #holders, 2 do
    local _, _, began = Leases.read_claim(holders[i])
    local at = tonumber(began)
    if at and (not first or at < first) then first = at end
  end
  return first
end

local function window_parts(topic)
  local rate = settings_of(topic).rate
  if not rate or not rate.window then return 0, 0 end
  local began, number = Rates.window(topic, rate)
  return began and math.floor(began / 1000) or 0, number or 0
end

local LOOK = 100
local function number_held(topic, ready)
  if not has(HELD) then return 0, 0 end
  local number = call('ZCARD', Holds.key(topic))
  if number == 0 or ready == 0 then return number, 0 end
  local ids, found = call('ZRANGE', bucket_of(topic), 0, math.min(ready, LOOK) - 1), 0
  for _, due in ipairs(call('ZMSCORE', Holds.key(topic), unpack(ids))) do found = found + (due and 1 or 0) end
  return number, math.min(number, math.floor(found * ready / #ids))
end

local function holds_without_url(topic, number)
  return number > 0 and not Records.needs_no_url(topic) and call('EXISTS', Holds.breaker_key(Holds.no_url_of(topic))) or 0
end

local function first_due(topic, due)
  local first = has(HELD) and call('ZRANGE', Holds.key(topic), 0, 0, 'WITHSCORES')[2]
  return first and math.min(due, ms_of(first)) or due
end

-- Returns the most urgent topics: first those with the oldest overdue jobs, then those with the next due jobs. Examines
-- a bounded number of topics. If there are no more topics than requested, returns all of them.
local URGENT_LOOK = 200
local function urgent_names()
  local found, dues, ranks = {}, {}, {}
  local function add(topics)
    for i = 1, #topics do
      local topic = topics[i]
      if not dues[topic] then
        local first = call('ZRANGE', bucket_of(topic), '0', '0', 'WITHSCORES')[2]
        found[#found + 1] = topic
        dues[topic], ranks[topic] = first_due(topic, first and ms_of(first) or math.huge), #found
      end
    end
  end
  for _, key in ipairs({HELD, TURNS, BEHIND, DUE}) do add(call('ZRANGE', key, 0, URGENT_LOOK - 1)) end
  add(call('ZRANGE', NAMES, 0, most - 1))
  table.sort(found, function(a, b)
    if dues[a] ~= dues[b] then return dues[a] < dues[b] end
    return ranks[a] < ranks[b]
  end)
  return found
end

local FAILING_MAX, QUOTAS_MAX = 20, 100

script('topics', {'no-writes'}, {Holds, Hours, Leases, Openings, Quotas, Rates, Records, Turns}, function()
  local one, after = ARGV[2], ARGV[3]
  most = tonumber(ARGV[4])
  local names, more_names = {one}, {}
  if ARGV[5] == '1' then
    names, more_names = urgent_names(), Hours.failing_names(FAILING_MAX)
    for _, topic in ipairs(Quotas.largest(QUOTAS_MAX)) do more_names[#more_names + 1] = topic end
  elseif ARGV[5] == '2' then
    names = Hours.failing_names(most)
  elseif one == '' then
    names = call('ZRANGE', NAMES, after == '' and '-' or '(' .. after, '+', 'BYLEX', 'LIMIT', 0, most + 1)
  end
  local replies, told, number = {now_us, 0}, 0, math.min(#names, most)
  if #more_names > 0 then
    local is_named = {}
    for i = 1, number do is_named[names[i]] = true end
    for i = 1, #more_names do
      if not is_named[more_names[i]] then
        number = number + 1
        names[number] = more_names[i]
        is_named[more_names[i]] = true
      end
    end
  end
  local hours = Hours.last({unpack(names, 1, number)})
  for i = 1, number do
    local topic = names[i]
    local settings_text = settings_text_of(topic)
    local own_text = settings_texts[topic] or ''
    Records.bytes_left = Records.bytes_left - #settings_text - #own_text
    if i > 1 and Records.has_read_enough() then break end
    local first = call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')[2]
    local due = first and ms_of(first) or -1
    local ready = due > -1 and due <= now and call('ZCOUNT', bucket_of(topic), '-inf', '(' .. integer(due_before)) or 0
    local waiting = first and call('ZCARD', bucket_of(topic)) or 0
    local held_number, held_ready = number_held(topic, ready)
    local opens = settings_of(topic).windows and Openings.closed_until(topic)
    local hour, window_began, window_number = hours[topic], window_parts(topic)
    local held_at, held_by = held(topic, due)
    local lacks_zone = opens and Openings.lacks_zone(topic)
    if lacks_zone then opens, held_at = 'inf', held_at ~= -1 and -2 or -1 end
    for _, part in ipairs({
      topic, settings_text, waiting - ready - held_number + held_ready, ready - held_ready, call('HLEN', holders_of(topic)),
      call('ZCARD', index_of('dead', topic)), first_due(topic, due), held_at, held_number, hour.d, hour.r, hour.x,
      own_text, pattern_of_topic[topic] or '',
      line_head_of(topic), window_began, window_number, holds_without_url(topic, held_number),
      hour.fails and 1 or 0, hour.answer, Quotas.of(topic) or -1,
      not opens and -1 or opens == 'inf' and -2 or tonumber(opens),
      held_by == 'batch' and 1 or lacks_zone and 2 or 0,
    }) do
      replies[#replies + 1] = part
    end
    told = i
  end
  replies[2] = #names > told and 1 or 0
  if one ~= '' then replies[#replies + 1] = first_lease(one) end
  return replies
end)
