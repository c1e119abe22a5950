#!lua flags=allow-oom
-- report.lua - what attempts met at their receivers, and who may probe one whose breaker is open.
--
-- ARGV[2] the first wait of a breaker that opens, ms; then for each receiver:
--   name       host:port
--   lives      1: something came that is no failure; before the failures that follow
--   failures   so many came in a row
--   cause      the last failure's word, or that of a probe that told nothing, or '-'
--   crowd      attempts that were in flight there when it asked for fewer; 0: it did not
--   delivered  so many 2xx
--   probe      the number of the probe of which this tells; with neither life nor failures it told nothing, and without a
--              cause it was not sent. 0: none
--   wish       '-', 'close', or for how long, ms, a probe may take that is asked for
-- Returns {now_us, {number of the probe that is granted or 0, changes, version, record or ''}, ...}; changes are a sum of
-- 1 opened, 2 closed, 4 halved. version is that of the last report there is, by which an answer is told from an older one.
--
-- A record: failures in a row, when its breaker opened or 0, until when nobody may probe, its wait, number of the
-- probe under way or 0, limit in flight or 0, when that was last halved, the last failure's time and cause, time of
-- this report. Each gets a new version, by which others learn of it; the one with the oldest is forgotten first.
-- What changes where attempts go is told at once, on the channel of the wake-ups: 'receivers'.
-- uses: clock probe publish
local FAILURES_MAX, WAIT_MAX_MS, LIMIT_MAX, HALVE_MS = 20, 600000, 1000, 1000
local KEPT_MAX, KEPT_MS, FORGET_MAX = 10000, 3600000, 16
local RECEIVERS, REPORTED = base .. 'receivers', base .. 'reported' -- name -> record; name -> its version
local SIZE = 8
local first_wait = tonumber(ARGV[2])

if (#ARGV - 2) % SIZE ~= 0 then error('wrong number of arguments') end
for i = 3, #ARGV, SIZE do
  if not string.match(ARGV[i], '.:%d+$') then error('not a receiver') end
  for _, k in ipairs({1, 2, 4, 5, 6}) do
    if not string.match(ARGV[i + k], '^%d+$') then error('not a number') end
  end
end
probe()

local function read(record)
  local r = {}
  r.failures, r.opened, r.probe_at, r.wait, r.probe, r.limit, r.halved, r.failed, r.cause = string.match(
    record or '0 0 0 0 0 0 0 0 -', '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+)')
  for name, value in pairs(r) do r[name] = tonumber(value) or value end
  return r
end

-- All but the time of the report.
local function write(r)
  return table.concat({integer(r.failures), integer(r.opened), integer(r.probe_at), integer(r.wait), integer(r.probe),
    integer(r.limit), integer(r.halved), integer(r.failed), r.cause}, ' ')
end

local function close(r)
  r.failures, r.opened, r.probe_at, r.wait, r.probe = 0, 0, 0, 0, 0
end

local function open(r, wait)
  r.opened = r.opened > 0 and r.opened or now
  r.wait, r.probe, r.probe_at = math.min(wait, WAIT_MAX_MS), 0, soonest + math.min(wait, WAIT_MAX_MS)
end

local function fail(r, failures, cause, probe)
  local was_probe = r.opened > 0 and probe > 0 and probe == r.probe
  r.failures, r.failed, r.cause = r.failures + failures, now, cause
  if was_probe then open(r, 2 * r.wait) end
  if r.opened == 0 and r.failures >= FAILURES_MAX then open(r, first_wait) end
end

-- A burst of answers that ask for less counts once; what the clock, stepping back, leaves in the future does not.
local function halve(r, crowd)
  local since = now - r.halved
  if since >= 0 and since < HALVE_MS then return 0 end
  local limit = r.limit > 0 and math.min(r.limit, crowd) or crowd
  r.limit, r.halved = math.max(1, math.floor(limit / 2)), now
  return 4
end

-- Whether the right to probe is there, and for whoever asks only, until it is used or must be lost.
local function grant(r, most_ms, number)
  local left = r.probe_at - now
  if r.opened == 0 or left > 0 and left <= WAIT_MAX_MS then return 0 end
  r.probe, r.probe_at = number, soonest + math.min(math.max(r.wait, most_ms), WAIT_MAX_MS)
  return number
end

local function forget(name)
  call('HDEL', RECEIVERS, name)
  call('ZREM', REPORTED, name)
end

local function report(i)
  local name, lives, failures, cause = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]
  local crowd, delivered, probe, wish = tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5]), tonumber(ARGV[i + 6]), ARGV[i + 7]
  local record = call('HGET', RECEIVERS, name)
  local version = tonumber(call('HGET', RECEIVERS, 'version') or 0)
  local r, granted, changes = read(record), 0, 0
  local before = write(r)
  local was_open = r.opened > 0
  if lives == '1' or wish == 'close' then close(r) end
  if was_open and r.opened == 0 then changes = 2 end
  if wish == 'close' then r.limit = 0 end
  if delivered > 0 and r.limit > 0 then r.limit = r.limit + delivered end
  if r.limit >= LIMIT_MAX then r.limit = 0 end
  if crowd > 0 then changes = changes + halve(r, crowd) end
  if failures > 0 then
    was_open = r.opened > 0
    fail(r, failures, cause, probe)
    if r.opened > 0 and not was_open then changes = changes + 1 end
  elseif lives == '0' and probe > 0 and probe == r.probe then
    r.probe, r.probe_at = 0, cause == '-' and now or soonest + r.wait
  end
  if tonumber(wish) then granted = grant(r, tonumber(wish), version + 1) end
  local after = write(r)
  if after ~= before then
    record, version = after .. ' ' .. integer(now), version + 1
    call('HSET', RECEIVERS, name, record, 'version', integer(version))
    call('ZADD', REPORTED, version, name)
  end
  return {granted, changes, version, record or ''}
end

local replies, is_told = {now_us}, false
for i = 3, #ARGV, SIZE do
  local reply = report(i)
  replies[#replies + 1] = reply
  is_told = is_told or reply[1] > 0 or reply[2] > 0
end
if is_told then publish('receivers') end

-- What nothing was told of for so long, and what is too many.
local excess = call('ZCARD', REPORTED) - KEPT_MAX
local oldest = call('ZRANGE', REPORTED, 0, FORGET_MAX + #replies)
for i = 1, #oldest do
  local at = tonumber(string.match(call('HGET', RECEIVERS, oldest[i]) or '0', '%d+$'))
  if i > excess and at > now - KEPT_MS then break end
  forget(oldest[i])
end
return replies
