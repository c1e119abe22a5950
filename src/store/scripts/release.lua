#!lua flags=allow-oom
-- release.lua - leases given back unused: due again at the time they were due at.
--
-- ARGV from 2: id, nonce, ...     Returns {now_us, 1 done or 0 stale, ...}.
check(2, 2)
local verdicts, claims = fence(2, 2)
local replies = {now_us}
for i = 2, #ARGV, 2 do
  local number, id = i / 2, ARGV[i]
  local has_lease = verdicts[number] == 'lease'
  replies[number + 1] = has_lease and 1 or 0
  if has_lease then
    take(id)
    put(id, string.match(claims[number], '(%S+)$'))
  end
end
finish()
return replies
