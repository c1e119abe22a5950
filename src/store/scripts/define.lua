-- define.lua - writes definitions of schedules, unless the stored definition has changed since the caller read it.
-- The flag allow-oom is not set, so a full Redis refuses new definitions.
--
-- ARGV from 2: id of the schedule; tag of the definition that the caller has read, or '-' if there was no definition;
--      the definition; its next time, ms, or '-' if it does not fire any more, or '=' to keep the next time; its member
--      expectBy, ms, or 0; its jitter, ms; ...
-- Returns {now_us, 1 done or 0 changed, ...}.

local earliest

-- Returns the time of the next occurrence that Redis has, or nothing.
local function next_now(id, last)
  local outcome, time = string.match(last or '', '^(%S+) %S+ (%d+)')
  return tonumber((outcome == 'hold' or outcome == 'quota') and time or call('ZSCORE', FIRES, id))
end

local function define(id, tag, definition, next_at, by, jitter)
  local its_tag, last = Schedules.fired(id)
  if (its_tag or '-') ~= tag then return 0 end
  -- If the next time changes, an occurrence that waits to be fired (outcome 'hold' or 'quota') is dropped, because it
  -- comes from the old definition.
  if last and next_at ~= '=' then last = string.gsub(string.gsub(last, '^hold ', '- '), '^quota ', '- ') end
  call('HSET', SCHEDULES, id, definition)
  call('HSET', FIRED, id, redis.sha1hex(definition) .. ' ' .. (last or Schedules.NOT_FIRED))
  if not its_tag then call('ZADD', SCHEDULE_NAMES, 0, id) end
  if its_tag and next_at ~= '=' then
    call('HDEL', SKIPPED, id)
    call('ZREM', SKIPPED_UNTIL, id)
  end
  Expected.define(id, by ~= '0' and by, jitter, next_at, next_at == '=' and next_now(id, last))
  if next_at == '-' then
    call('ZREM', FIRES, id)
  elseif next_at ~= '=' then
    call('ZADD', FIRES, next_at, id)
    earliest = math.min(earliest, tonumber(next_at))
  end
  return 1
end

script('define', {}, {Expected, Schedules}, function()
  check(2, 6)
  for i = 5, #ARGV, 6 do
    if not string.match(ARGV[i], '^%d+$') and ARGV[i] ~= '-' and ARGV[i] ~= '=' then error('not a number') end
    if not string.match(ARGV[i + 1] .. ' ' .. ARGV[i + 2], '^%d+ %d+$') then error('not a number') end
  end
  local first = Schedules.first_fire()
  earliest = math.huge
  local replies = {now_us}
  for i = 2, #ARGV, 6 do
    replies[#replies + 1] = define(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
  end
  if earliest < first then publish('fire ' .. integer(earliest)) end
  return replies
end)
