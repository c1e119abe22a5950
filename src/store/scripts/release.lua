#!lua flags=allow-oom
-- release.lua - leases given back unused: due again at the time they were due at, or held back for a while.
--
-- ARGV from 2: id, nonce, ms to hold it back from now, or -1, ...     Returns {now_us, 1 done or 0 stale, ...}.
check(2, 3, 3)
local verdicts, claims = fence(2, 3)
local replies = {now_us}
for i = 2, #ARGV, 3 do
  local number, id = (i + 1) / 3, ARGV[i]
  local has_lease = verdicts[number] == 'lease'
  replies[number + 1] = has_lease and 1 or 0
  if has_lease then
    local due, wait = string.match(claims[number], '(%S+)$'), tonumber(ARGV[i + 2])
    take(id)
    -- A clock that stepped back makes no job early.
    put(id, wait < 0 and due or math.max(tonumber(due), soonest + wait))
  end
end
finish()
return replies
