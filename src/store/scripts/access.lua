-- access.lua - shares the access tokens of receivers (OAuth 2.0) between processes: one of them gets a token from its
-- token server, and the others wait for it.
--
-- ARGV[2] digest of the settings that the token belongs to   [3] what the caller does:
--   ask    wants a token, and gets it from the token server itself if no other process does   [4] time for that, ms
--   keep   has got a token   [4] token   [5] how long it may be used, ms
--   fail   has got none: no process asks again for a second, and twice as long after each further failure, up to a minute
--   drop   a receiver has refused this token   [4] token
-- Returns {now_us, answer, number, token, age}:
--   token  number: how long it may still be used, ms; age: how long ago it was kept, ms
--   fetch  the caller must get a token now
--   busy   another process gets one; number: the time that is left for that, ms
--   wait   the token server has failed; number: when it may be asked again, in ms from now
--   done
--
-- access:<digest> is a HASH with the fields token, since (ms), until (ms), busy (until when a process gets a token, or no process may
-- ask), fails (number of failures in a row). Its times follow the clock of Redis, also if there is a manual clock. If a process dies
-- while it gets a token, the next one does at the end of its time.

local FAIL_MS, FAIL_MAX_MS, USED_MAX_MS = 1000, 60000, 86400000
local KEPT_MS = USED_MAX_MS + 3600000

local function ask(key, busy_ms, at)
  local known = call('HMGET', key, 'token', 'until', 'busy', 'fails', 'since')
  local left, busy = (tonumber(known[2]) or 0) - at, (tonumber(known[3]) or 0) - at
  if known[1] and left > 0 and left <= USED_MAX_MS then
    return {now_us, 'token', left, known[1], math.max(0, at - (tonumber(known[5]) or at))}
  end
  if busy > 0 and busy <= math.max(busy_ms, FAIL_MAX_MS) then
    return {now_us, known[4] and 'wait' or 'busy', busy, '', 0}
  end
  call('HSET', key, 'busy', integer(at + busy_ms))
  call('HDEL', key, 'fails')
  return {now_us, 'fetch', tonumber(known[4]) or 0, '', 0}
end

script('access', {'allow-oom'}, {}, function()
  local key, what, at = base .. 'access:' .. ARGV[2], ARGV[3], clock.lease_now
  if not string.match(ARGV[2], '^%x+$') then error('not a digest') end
  if what == 'ask' and not string.match(ARGV[4], '^%d+$') then error('not a number') end
  if what == 'keep' and not string.match(ARGV[5], '^%d+$') then error('not a number') end
  probe()
  local answer = {now_us, 'done', 0, '', 0}
  if what == 'ask' then
    answer = ask(key, tonumber(ARGV[4]), at)
  elseif what == 'keep' then
    call('HSET', key, 'token', ARGV[4], 'since', integer(at), 'until', integer(at + tonumber(ARGV[5])))
    call('HDEL', key, 'busy', 'fails')
  elseif what == 'fail' then
    local fails = math.min(tonumber(ARGV[4]) + 1, 16)
    local wait = math.min(FAIL_MAX_MS, FAIL_MS * 2 ^ (fails - 1))
    call('HSET', key, 'busy', integer(at + wait), 'fails', fails)
    answer = {now_us, 'wait', wait, '', 0}
  elseif what == 'drop' and call('HGET', key, 'token') == ARGV[4] then
    call('HDEL', key, 'token', 'since', 'until')
  end
  if what ~= 'drop' then call('PEXPIRE', key, KEPT_MS) end
  return answer
end)
