#!lua
-- change.lua - jobs of which their owner changes some members, unless they have changed since the caller read them.
-- No allow-oom: they may grow.
--
-- ARGV from 2: id, its tag (see is_as_seen), when (as in schedule.lua) or '-' to stay where it is, record, ...
-- Returns {now_us, result ...}: the due time, 0 where it stays; -2 when this call has looked at enough: ask again,
-- -3 leased, -4 not as seen, NO_URL.
-- uses: check crashes tag take url when
check(2, 4)
for i = 4, #ARGV, 4 do
  if ARGV[i] ~= '-' and not string.match(ARGV[i], '^@?-?%d+$') then error('not a number') end
end

local function change(id, tag, when, record)
  if call('ZSCORE', LEASES, id) then return -3 end
  local is_seen = is_as_seen(id, tag)
  if is_seen == nil then return -2 end
  if not is_seen then return -4 end
  if lacks_url(id, record) then return NO_URL end
  call('HSET', JOBS, id, record)
  forget_crashes(id)
  if when == '-' then return 0 end
  local at, text = due_of(when)
  take(id)
  put(id, text)
  return at
end

local replies = {now_us}
for i = 2, #ARGV, 4 do
  replies[#replies + 1] = change(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
finish()
return replies
