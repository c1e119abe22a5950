-- report.lua - stores how receivers (servers that jobs are POSTed to) answered. If the circuit breaker of a receiver is
-- open, the script decides which process may probe it, that is, send it one attempt.
--
-- ARGV[2] first wait of a breaker that opens, ms; then for each receiver:
--   name       host:port, or host:port/path
--   reachable  1: an attempt found the receiver healthy, before the failures that the next argument counts
--   failures   number of consecutive failures
--   cause      word for the last failure or for the inconclusive probe, or '-'
--   crowd      number of attempts that were in flight at this receiver when it asked for fewer requests; 0: it did not
--              ask
--   delivered  number of answers 2xx
--   probe      number of the probe that this report ends; 0: none. If reachable and failures are 0, the probe was
--              inconclusive, or was not sent if cause is '-'
--   wish       '-', 'close', or 'probe', which asks for the right to probe
-- Returns {now_us, {number of the probe that is granted or 0, changes, version, record or ''}, ...}. changes is the sum
-- of what happened: 1 the breaker opened, 2 it closed, 4 the limit in flight was halved. version is the version of the
-- last record that was written; answers with a higher version are newer.
--
-- If the breaker of host:port is closed on request, the breakers of its paths are closed, too.
--
-- While a probe runs, further probes may begin: one after each sixth of the breaker's wait, but at most one a second.
-- Probes that overlap in this way form a round. The first probe that fails ends its round and doubles the wait. The
-- numbers of probes increase. So a probe belongs to the current round if its number is at least that of the round's
-- first probe.
--
-- A record has: consecutive failures, time when its breaker opened or 0, time of the next probe, wait before it, number
-- of the first probe of the current round or 0, limit in flight or 0, time when the limit was last halved, time and
-- cause of the last failure, time of this report. Each record gets a new version, by which other processes find it. If
-- there are too many records, those with the lowest versions are removed. Changes that affect attempts are published at
-- once on the wake-up channel, as 'receivers'.

local FAILURES_MAX, WAIT_MAX_MS, LIMIT_MAX, HALVE_MS = 20, 600000, 1000, 1000
local PACE_MIN_MS, PACES = 1000, 6 -- time between probes of a round: wait / PACES, at least PACE_MIN_MS
local KEPT_MAX, FORGET_MAX = 10000, 16
local SIZE = 8
local first_wait

local NOTHING = '0 0 0 0 0 0 0 0 -'
local SHAPE = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+)'

-- Reads a record. A text that duepost did not write is ignored.
local function read(record)
  local r = {}
  if not record or not string.match(record, SHAPE) then record = NOTHING end
  r.failures, r.opened, r.probe_at, r.wait, r.probe, r.limit, r.halved, r.failed, r.cause = string.match(
    record, SHAPE)
  for name, value in pairs(r) do r[name] = tonumber(value) or value end
  return r
end

-- Returns the text of a record, without the time of the report.
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

local function is_of_round(r, probe)
  return r.opened > 0 and r.probe > 0 and probe >= r.probe
end

local function fail(r, failures, cause, probe)
  local was_probe = is_of_round(r, probe)
  r.failures, r.failed, r.cause = r.failures + failures, now, cause
  if was_probe then open(r, 2 * r.wait) end
  if r.opened == 0 and r.failures >= FAILURES_MAX then open(r, first_wait) end
end

-- Halves the receiver's limit of jobs in flight. Several requests for this within HALVE_MS halve it once. If the time
-- of the last halving is in the future, because the clock has stepped back, it is ignored.
local function halve(r, crowd)
  local since = now - r.halved
  if since >= 0 and since < HALVE_MS then return 0 end
  local limit = r.limit > 0 and math.min(r.limit, crowd) or crowd
  r.limit, r.halved = math.max(1, math.floor(limit / 2)), now
  return 4
end

-- Grants the right to probe: returns the number of the probe, or 0. If a round has begun, the new probe joins it.
local function grant(r, number)
  local left = r.probe_at - now
  if r.opened == 0 or left > 0 and left <= WAIT_MAX_MS then return 0 end
  if r.probe == 0 then r.probe = number end
  r.probe_at = soonest + math.max(PACE_MIN_MS, math.floor(r.wait / PACES))
  return number
end

-- Ends a probe without a result. If the probe was not sent, another process may probe at once. An inconclusive probe
-- ends its round and restarts the current wait without doubling it, unless other probes of the round are still
-- running.
local function give_back(r, probe, was_sent)
  if not is_of_round(r, probe) then return end
  if not was_sent then r.probe_at = now end
  if probe > r.probe then return end
  r.probe = 0
  if was_sent then r.probe_at = soonest + r.wait end
end

local function forget(name)
  call('HDEL', RECEIVERS, name)
  call('ZREM', REPORTED, name)
end

local function save(name, record)
  local version = integer(tonumber(call('HGET', RECEIVERS, 'version') or 0) + 1)
  call('HSET', RECEIVERS, name, record .. ' ' .. integer(now), 'version', version)
  call('ZADD', REPORTED, version, name)
end

-- Closes the breakers of the host's paths. Returns whether a path has a record, and whether the breaker of a path was
-- open.
local function close_paths(host)
  local names, is_known, has_closed = call('HKEYS', RECEIVERS), false, false
  for i = 1, #names do
    if string.sub(names[i], 1, #host + 1) == host .. '/' then
      local r = read(call('HGET', RECEIVERS, names[i]))
      is_known, has_closed = true, has_closed or r.opened > 0
      if r.failures > 0 then
        close(r)
        save(names[i], write(r))
      end
    end
  end
  return is_known, has_closed
end

local function report(i)
  local name, reachable, failures, cause = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]
  local crowd, delivered, probe, wish = tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5]), tonumber(ARGV[i + 6]), ARGV[i + 7]
  local knows_paths, has_closed_paths = false, false
  if wish == 'close' then knows_paths, has_closed_paths = close_paths(name) end
  local record = call('HGET', RECEIVERS, name)
  local version = tonumber(call('HGET', RECEIVERS, 'version')) or 0
  local r, granted, changes = read(record), 0, 0
  local before = write(r)
  local was_open = r.opened > 0
  if reachable == '1' or wish == 'close' then close(r) end
  if was_open and r.opened == 0 then changes = 2 end
  if wish == 'close' then r.limit = 0 end
  if delivered > 0 and r.limit > 0 then r.limit = r.limit + delivered end
  if r.limit >= LIMIT_MAX then r.limit = 0 end
  if crowd > 0 then changes = changes + halve(r, crowd) end
  if failures > 0 then
    was_open = r.opened > 0
    fail(r, failures, cause, probe)
    if r.opened > 0 and not was_open then changes = changes + 1 end
  elseif reachable == '0' then
    give_back(r, probe, cause ~= '-')
  end
  if wish == 'probe' then granted = grant(r, version + 1) end
  local after = write(r)
  if after ~= before then
    save(name, after)
    record, version = after .. ' ' .. integer(now), version + 1
  end
  if has_closed_paths then changes = 2 end
  if knows_paths then record = record or after .. ' ' .. integer(now) end
  return {granted, changes, version, record or ''}
end

script('report', {'allow-oom'}, {}, function()
  first_wait = tonumber(ARGV[2])
  if (#ARGV - 2) % SIZE ~= 0 then error('wrong number of arguments') end
  for i = 3, #ARGV, SIZE do
    if not string.match(ARGV[i], '^[^/]+:%d+$') and not string.match(ARGV[i], '^[^/]+:%d+/') then error('not a receiver') end
    for _, k in ipairs({1, 2, 4, 5, 6}) do
      if not string.match(ARGV[i + k], '^%d+$') then error('not a number') end
    end
  end
  probe()
  local replies, is_told = {now_us}, false
  for i = 3, #ARGV, SIZE do
    local reply = report(i)
    replies[#replies + 1] = reply
    is_told = is_told or reply[1] > 0 or reply[2] > 0
  end
  if is_told then publish('receivers') end
  -- Removes records that have not changed for REPORTED_KEPT_MS, and the oldest ones if there are more than KEPT_MAX.
  local excess = call('ZCARD', REPORTED) - KEPT_MAX
  local oldest = call('ZRANGE', REPORTED, 0, FORGET_MAX + #replies)
  for i = 1, #oldest do
    local at = tonumber(string.match(call('HGET', RECEIVERS, oldest[i]) or '0', '%d+$')) or 0
    if i > excess and at > now - REPORTED_KEPT_MS then break end
    forget(oldest[i])
  end
  return replies
end)
