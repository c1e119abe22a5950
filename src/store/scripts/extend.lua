-- extend.lua - gives workers' leases a new deadline, unless their deadline has passed.
--
-- ARGV from 2: id, nonce, lease in ms from now, ...
-- Returns {now_us, result ...}. A result is the new deadline, REPLACED, or 0 if the nonce does not hold the lease for
-- another reason.

script('extend', {'allow-oom'}, {Fence, Leases, Lingering}, function()
  check_items(2, 3, 3)
  probe_slot()
  refuse_newer_format()
  local verdicts = Fence.verdicts(2, 3, true)
  local replies = {now_us}
  for i = 2, #ARGV, 3 do
    local id, number = ARGV[i], (i + 1) / 3
    local deadline = verdicts[number] == 'lease' and Leases.holder(ARGV[i + 1]) == WORKERS and call('ZSCORE', WORKERS.leases, id)
    replies[number + 1] = 0
    if deadline and tonumber(deadline) > now then
      replies[number + 1] = now + tonumber(ARGV[i + 2])
      call('ZADD', WORKERS.leases, 'XX', replies[number + 1], id)
    elseif Lingering.why(Lingering.place(id, ARGV[i + 1])) == 'replaced' then
      replies[number + 1] = RESULT.REPLACED
    end
  end
  return replies
end)
