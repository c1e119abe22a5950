-- defer.lua - turns leases of consumers into leases of workers: a later request ends the attempt, with its token
-- (lease_text.h). The nonce of the new lease is 'p-' and the old nonce.
--
-- ARGV from 2: id, nonce of the consumer's lease, lease in ms from now, when the attempt began, ms, '+' if the job may
--      have callbacks, else '-', ...
-- Returns {now_us, result ...}. A result is the deadline; 0 (stale) or REPLACED. If the lease is a worker's already, because the
-- token came before the receiver's answer, it does not become shorter.

script('defer', {'allow-oom'}, {Attempts, Fence, Leases, Lingering, Places}, function()
  check_ends(2, 5, 3)
  for i = 2, #ARGV, 5 do
    if Leases.holder(ARGV[i + 1]) == WORKERS or not string.match(ARGV[i + 3], '^%d+$') then error('not a lease') end
  end
  local verdicts, claims = Fence.verdicts(2, 5, true)
  local replies = {now_us}
  for i = 2, #ARGV, 5 do
    local id, nonce, number = ARGV[i], ARGV[i + 1], (i + 3) / 5
    local deadline, topic = now + tonumber(ARGV[i + 2]), topic_of(id)
    if verdicts[number] == 'lease' then
      local _, due = Leases.read_claim(claims[number])
      call('ZREM', CONSUMERS.leases, id)
      call('ZADD', WORKERS.leases, integer(deadline), id)
      call('HSET', holders_of(topic), id, table.concat({'p-' .. nonce, ARGV[i + 3], ARGV[i + 4], due or integer(now)}, ' '))
      is_there[WORKERS.leases] = true
      Attempts.forget_losses(id)
      replies[number + 1] = deadline
    elseif (Leases.read_claim(call('HGET', holders_of(topic), id) or '-')) == 'p-' .. nonce then
      call('ZADD', WORKERS.leases, 'XX', 'GT', integer(deadline), id)
      replies[number + 1] = tonumber(call('ZSCORE', WORKERS.leases, id)) or 0
    else
      replies[number + 1] = Lingering.finish(id, nonce)
    end
  end
  Places.finish()
  return replies
end)
