-- imports.lua - writes rows of settings, schedules, idempotency keys and sends for import.lua.

local Imports = {uses = {Alerting, Ended, Expected, Lanes, Limits, Openings, Places, Rates, Schedules}}

Imports.EXISTS, Imports.SAME, Imports.IMPORTED = 'exists', 'same', 'imported'

function Imports.refused(why) return 'refused ' .. why end

-- Writes a field of a hash if it is new. Returns IMPORTED, or what the hash has.
function Imports.write_new(key, name, text)
  if not text then return Imports.refused('lacks a member') end
  local old = call('HGET', key, name)
  if old then return old == text and Imports.SAME or Imports.EXISTS end
  call('HSET', key, name, text)
  return Imports.IMPORTED
end

function Imports.is_time(text) return text and tonumber(text) and tonumber(text) == tonumber(text) end

local refused, write_new, is_time, SAME, IMPORTED = Imports.refused, Imports.write_new, Imports.is_time, Imports.SAME, Imports.IMPORTED

-- ---- settings ----

-- Takes over how much of a rate is used up.
local function write_rate(name, row)
  if row.spent then call('HSET', RATES, name, row.spent) end
  local rate = row.window and settings_of(name).rate
  if not rate or not rate.window then return end
  local left_ms = math.ceil(tonumber(row.window) / 1000 + rate.per * 1000 - now) + 1000
  if left_ms < 1 then return end
  call('HSET', Rates.begun_key(name), 'window', row.window, 'number', row.number or '0')
  call('PEXPIRE', Rates.begun_key(name), integer(left_ms))
end

function Imports.limit(name, row)
  local result = write_new(LIMITS, name, row.settings)
  if result ~= IMPORTED then return result end
  raise_format(FORMAT.LIMITS)
  note_settings_key(LIMITS, true)
  settings['~' .. name] = nil
  write_rate('~' .. name, row)
  Limits.touched[name] = true
  return result
end

function Imports.topic(name, row)
  if not row.settings then
    if call('HEXISTS', RATES, name) == 1 then return SAME end
    write_rate(name, row)
    return IMPORTED
  end
  if read_settings(row.settings) == UNREADABLE then return refused('settings cannot be read') end
  local named = Limits.named_in(row.settings)
  if named and not Limits.exists(named) then return refused('there is no limit ' .. named) end
  local result = write_new(TOPICS, name, row.settings)
  if result ~= IMPORTED then return result end
  note_settings_key(TOPICS, true)
  note_settings(name, row.settings)
  Limits.note_user(name, nil, named)
  if is_pull(name) then raise_format(FORMAT.PULL) end
  if settings_of(name).maxPending then raise_format(FORMAT.QUOTAS) end
  write_rate(name, row)
  Openings.forget(name)
  Alerting.note(name, Alerting.are_in(row.settings))
  Places.touch(name, 'all')
  Ended.touch_dead(name)
  return result
end

function Imports.key(name, row)
  local of, its_key = string.match(name, '^([^\n]+)\n(.+)$')
  if not of then return refused('name is not a topic and a key') end
  local result = write_new(KEY_SETTINGS, name, row.settings)
  if result ~= IMPORTED then return result end
  raise_format(FORMAT.LANES)
  is_there[KEY_SETTINGS] = true
  Lanes.note_settings(of, its_key, true)
  Places.touch(of, 'all')
  return result
end

function Imports.group(name, row)
  local result = write_new(GROUPS, name, row.text)
  if result == IMPORTED then call('ZADD', GROUP_NAMES, '0', name) end
  return result
end

-- ---- schedules, idempotency keys, sends ----

-- The next time of the schedules that this call has written, ms.
function Imports.schedule(id, row)
  if row.next and not is_time(row.next) or row.skippedUntil and not is_time(row.skippedUntil) then return refused('a time is not a number') end
  local result = write_new(SCHEDULES, id, row.definition)
  if result ~= IMPORTED then return result end
  call('HSET', FIRED, id, row.fired or redis.sha1hex(row.definition) .. ' ' .. Schedules.NOT_FIRED)
  call('ZADD', SCHEDULE_NAMES, '0', id)
  if row.skipped and row.skippedUntil then
    call('HSET', SKIPPED, id, row.skipped)
    call('ZADD', SKIPPED_UNTIL, row.skippedUntil, id)
  end
  if row.expected then Expected.import(id, row.expected) end
  if row.next then
    call('ZADD', FIRES, row.next, id)
    Imports.earliest = math.min(Imports.earliest, tonumber(row.next))
  end
  return result
end

function Imports.idempotency(name, row)
  if not is_time(row['until']) then return refused('until is not a number') end
  local result = write_new(IDEMPOTENCY, name, row.answer)
  if result == IMPORTED then call('ZADD', WINDOWS, row['until'], name) end
  return result
end

function Imports.send(id, row)
  if not is_time(row['until']) then return refused('until is not a number') end
  local result = write_new(SENDS, id, row.text)
  if result == IMPORTED then call('ZADD', SENDS_UNTIL, row['until'], id) end
  return result
end

function Imports.begin() Imports.earliest = math.huge end

return Imports
