-- set_patterns.lua - replaces the settings of all patterns, unless they have changed since the caller read them.
--
-- Each shard has a copy of all patterns under one version; if copies differ, the copy with the highest version is
-- valid. After a change, it must be decided again which topics may be served: this script does so for some of them, and
-- reoffer.lua for the others. reoffer.lua also resumes held jobs of topics that have lost their circuit breaker, or
-- have a url again.
--
-- ARGV from 2, for each set:
--   old      the version that was read, or '' for a copy, which replaces only a lower version
--   new      the version of the copy, or '' for a new version
--   format   format of the data with these patterns, which earlier versions refuse; 0 if there are no patterns
--   number   number of patterns; then for each pattern:
--     pattern, text
-- Returns {now_us, the version in this shard for each set, or 0 if a change was refused, or NO_LIMIT}.

-- Returns the patterns whose setting breaker is true, as pattern -> true. The table is empty if no job is held, because
-- there is no job to resume then.
local function patterns_with_breaker()
  local texts, has_breaker = has(HELD) and has(PATTERNS) and call('HGETALL', PATTERNS) or {}, {}
  for i = 2, #texts, 2 do has_breaker[texts[i - 1]] = read_settings(texts[i]).breaker == true or nil end
  return has_breaker
end

-- Returns the limits that patterns name, as pattern -> limit. texts: pattern, text, pattern, text ...
local function limits_named(texts)
  local named = {}
  for i = 2, #texts, 2 do named[texts[i - 1]] = Limits.named_in(texts[i]) end
  return named
end

local function note_limits(old, new)
  for name, limit in pairs(old) do Limits.note_user(name, new[name] ~= limit and limit or nil) end
  for name, limit in pairs(new) do Limits.note_user(name, nil, old[name] ~= limit and limit or nil) end
end

local function write(version, format, first, number)
  local is_lost, lost = patterns_with_breaker(), {}
  if has(LIMITS) then
    note_limits(limits_named(call('HGETALL', PATTERNS)), limits_named({unpack(ARGV, first, first + 2 * number - 1)}))
  end
  call('DEL', PATTERNS)
  if number > 0 then call('HSET', PATTERNS, unpack(ARGV, first, first + 2 * number - 1)) end
  note_settings_key(PATTERNS, number > 0)
  raise_format(tonumber(format))
  local has_alerts = false
  for i = first + 1, first + 2 * number - 1, 2 do
    has_alerts = has_alerts or Alerting.are_in(ARGV[i])
    local settings = read_settings(ARGV[i])
    if settings.delivery == 'pull' then raise_format(FORMAT.PULL) end
    if settings.maxPending then raise_format(FORMAT.QUOTAS) end
    if settings.breaker == true then is_lost[ARGV[i - 1]] = nil end
  end
  Alerting.note('*', has_alerts)
  for name in pairs(is_lost) do lost[#lost + 1] = name end
  -- 'redate' makes the next calls of sweep.lua apply changed retentions to dead jobs.
  call('HSET', META, 'patterns', integer(version), 'redate', '0')
  call('DEL', Openings.key())
  Quotas.forget()
  Reoffer.start()
  Resuming.start_all(lost)
end

local function set(old, new, format, first, number)
  local version = tonumber(call('HGET', META, 'patterns')) or 0
  if old ~= '' then
    if version ~= tonumber(old) then return 0 end
    for i = first + 1, first + 2 * number - 1, 2 do
      local limit = Limits.named_in(ARGV[i])
      if limit and not Limits.exists(limit) then return RESULT.NO_LIMIT end
    end
    version = math.max(version + 1, now_us)
  else
    if tonumber(new) <= version then return version end
    version = tonumber(new)
  end
  write(version, format, first, number)
  return version
end

script('set_patterns', {'allow-oom'}, {Alerting, Limits, Openings, Places, Quotas, Reoffer, Resuming}, function()
  probe()
  local at, replies = 2, {now_us}
  while at <= #ARGV do
    local number = tonumber(ARGV[at + 3])
    replies[#replies + 1] = set(ARGV[at], ARGV[at + 1], ARGV[at + 2], at + 4, number)
    at = at + 4 + 2 * number
  end
  Reoffer.step(200)
  Places.finish()
  return replies
end)
