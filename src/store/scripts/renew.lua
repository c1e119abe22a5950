-- renew.lua - renews the leases of consumers.
--
-- ARGV[2] lease, ms; then id, nonce, ...
-- Returns {now_us, result ...}. A result is 1 (done), 0 (lease lost), or 2 (the job was cancelled or
-- replaced, and its attempt still counts as in flight).

script('renew', {'allow-oom'}, {Fence, Lingering}, function()
  check_items(3, 2)
  probe_slot()
  local verdicts = Fence.verdicts(3, 2, true)
  local deadline = integer(now + tonumber(ARGV[2]))
  local replies = {now_us}
  for i = 3, #ARGV, 2 do
    local number = (i - 1) / 2
    local has_lease = verdicts[number] == 'lease'
    replies[number + 1] = has_lease and 1 or 0
    if has_lease then
      call('ZADD', CONSUMERS.leases, 'XX', deadline, ARGV[i])
    elseif Lingering.has(Lingering.place(ARGV[i], ARGV[i + 1])) then
      call('ZADD', CONSUMERS.lingering, deadline, Lingering.place(ARGV[i], ARGV[i + 1]))
      replies[number + 1] = 2
    end
  end
  return replies
end)
