-- expected.lua - schedules whose occurrences must be delivered in time: their member expectBy.
--
-- The hash expected has id -> 'by jitter next at' and then 'time due jobs' for each occurrence that has come and is not
-- delivered, the earliest first. by: expectBy, ms. jitter: as much later than its time an occurrence may be due, ms. next: the
-- next time of the schedule, ms, or '-'. at: when an occurrence was last delivered, ms, or 0. time: as in the ids of the
-- jobs of this occurrence; '-' if no job was created. due: when its job was due, ms. jobs: the number of its jobs that are
-- not delivered; a group has several.
--
-- The sorted set expected_until has id -> when the earliest of these occurrences must be delivered, ms. The schedule is
-- missed from then on. A schedule that expects nothing, because it is paused or has ended, is not in this set.

local Expected = {uses = {}}

-- These keys have no names in keys.lua, because few installations have them.
local function key() return base .. 'expected' end
function Expected.until_key() return base .. 'expected_until' end

-- Returns whether a schedule has the member expectBy. While none has, a call costs nothing.
function Expected.is_used() return has(key()) end

-- ---- entries ----

local OPEN_MAX = 32 -- occurrences in an entry; of those beyond it, only the last one is kept

local function read(id)
  local by, jitter, next_at, at, rest = string.match(call('HGET', key(), id) or '', '^(%d+) (%d+) (%S+) (%d+) ?(.*)$')
  if not by then return end
  local entry = {by = by, jitter = jitter, next_at = next_at, at = at, open = {}}
  for time, due, jobs in string.gmatch(rest, '(%S+) (%d+) (%d+)') do
    entry.open[#entry.open + 1] = {time = time, due = due, jobs = tonumber(jobs)}
  end
  return entry
end

-- Returns when the schedule is missed, ms, or nothing if it expects no delivery.
local function deadline_of(entry)
  local due = entry.open[1] and tonumber(entry.open[1].due) or math.huge
  if entry.next_at ~= '-' then due = math.min(due, tonumber(entry.next_at) + tonumber(entry.jitter)) end
  return due < math.huge and due + tonumber(entry.by) or nil
end

local function write(id, entry)
  local words, deadline = {entry.by, entry.jitter, entry.next_at, entry.at}, deadline_of(entry)
  for _, one in ipairs(entry.open) do
    words[#words + 1] = one.time .. ' ' .. one.due .. ' ' .. one.jobs
  end
  call('HSET', key(), id, table.concat(words, ' '))
  is_there[key()] = true
  if deadline then call('ZADD', Expected.until_key(), integer(deadline), id) else call('ZREM', Expected.until_key(), id) end
end

local function add(entry, time, due, jobs)
  local open = entry.open
  local last = open[#open]
  if last and tonumber(due) <= tonumber(last.due) then return end -- the clock has stepped back
  open[math.min(#open + 1, OPEN_MAX)] = {time = time, due = due, jobs = jobs}
end

-- ---- definitions ----

-- Called when a definition is written. by, jitter: as above; by is nothing if the schedule has no expectBy. next_at: its
-- next time; '-': it is paused or has ended, so it expects nothing; '=': its times have not changed. next_now: the next
-- time that Redis has, or nothing. If the times change, occurrences that have come stay expected.
function Expected.define(id, by, jitter, next_at, next_now)
  if not by then return Expected.forget(id) end
  local entry = Expected.is_used() and read(id) or {next_at = next_now and integer(next_now) or '-', at = '0', open = {}}
  entry.by, entry.jitter = by, jitter
  if next_at ~= '=' then entry.next_at = next_at end
  if next_at == '-' then entry.open = {} end
  write(id, entry)
end

function Expected.forget(id)
  if not Expected.is_used() then return end
  call('HDEL', key(), id)
  call('ZREM', Expected.until_key(), id)
end

-- ---- occurrences ----

-- Called when a time of a schedule has passed. outcome: as in FIRED (schedules.lua). job: id of the occurrence. due: when its
-- jobs are due, ms. jobs: their number, 0 if none were created. next_at: as above. An occurrence without jobs is expected
-- all the same, and so are the times that were missed before it: only the delivery of a later one makes up for them. A
-- time that was skipped because the last job has not ended is not: this last job is still expected.
function Expected.fired(id, outcome, time, job, due, jobs, next_at)
  local entry = Expected.is_used() and read(id)
  if not entry then return end
  if outcome ~= 'overlap' then
    if entry.next_at ~= '-' and tonumber(entry.next_at) < tonumber(time) then add(entry, '-', entry.next_at, 1) end
    add(entry, jobs > 0 and string.match(job, '~([^~]*)$') or '-', jobs > 0 and due or time, math.max(jobs, 1))
  end
  entry.next_at = next_at
  write(id, entry)
end

-- Called when the clock has stepped back, and the next time was computed again.
function Expected.move(id, next_at)
  local entry = Expected.is_used() and read(id)
  if not entry or entry.next_at ~= '-' and tonumber(entry.next_at) <= now then return end
  entry.next_at = next_at
  write(id, entry)
end

-- Returns the schedule's entry, its id and the time of the occurrence with this id, or of the occurrence that was sent to
-- a group as this job, or nothing. time is 'run' for a job that a client requested.
local function occurrence_of(id)
  local rest = id
  for _ = 1, 2 do
    local before, mark = string.match(rest, '^(.*)~([^~/]*)$')
    if not before then return end
    local time = string.match(mark, '^%d+T[%d.]+Z$') or string.match(mark, '^run%-%x+$') and 'run'
    local entry = time and read(before)
    if entry then return entry, before, time end
    rest = before
  end
end

-- Called with the ids of jobs that were delivered. A delivered occurrence makes up for all earlier ones, and a job that a
-- client requested for all that were due.
function Expected.note_delivered(ids)
  for i = 1, #ids do
    local entry, id, time = nil, nil, nil
    if string.find(ids[i], '~', 1, true) then entry, id, time = occurrence_of(ids[i]) end
    if entry then
      local open, last = entry.open, 0
      for k = 1, #open do
        if open[k].time == time then
          open[k].jobs = open[k].jobs - 1
          if open[k].jobs < 1 then last = k end
        elseif time == 'run' and tonumber(open[k].due) <= now then
          last = k
        end
      end
      entry.open, entry.at = {unpack(open, last + 1)}, integer(now)
      write(id, entry)
    end
  end
end

-- ---- reading ----

-- Returns when the schedule is missed, ms, or -1, and when an occurrence was last delivered, ms, or 0.
function Expected.shown(id)
  local entry = Expected.is_used() and read(id)
  if not entry then return -1, 0 end
  return deadline_of(entry) or -1, tonumber(entry.at)
end

-- Returns the texts of an entry for export.lua, or nothing.
function Expected.text(id) return Expected.is_used() and call('HGET', key(), id) or nil end

-- Writes an entry that Expected.text has read, unless its text has another form.
function Expected.import(id, text)
  call('HSET', key(), id, text)
  is_there[key()] = true
  local entry = read(id)
  if entry then write(id, entry) else call('HDEL', key(), id) end
end

return Expected
