-- abandon.lua - releases the jobs of a claim whose reply never came. Without this script, the jobs would wait until
-- their leases end. Each released job is due again at its old time. If Redis receives the delayed claim only after this
-- script, its leases run out.
--
-- ARGV[2] nonce of the claim   [3] maximum number of leases to examine
-- ARGV[4] [5] first and last deadline that a lease of the claim can have, ms from now
-- Returns {now_us, number of jobs}.

script('abandon', {'allow-oom'}, {Attempts, Leases, Lingering, Places}, function()
  local nonce, holder, number = ARGV[2], Leases.holder(ARGV[2]), 0
  local time = Leases.now_of(holder)
  local from, to = integer(time + tonumber(ARGV[4])), integer(time + tonumber(ARGV[5]))
  local function examine(key) return call('ZRANGEBYSCORE', key, from, to, 'LIMIT', 0, ARGV[3]) end
  local ids = examine(holder.leases)
  probe_keys()
  for i = 1, #ids do
    local its_nonce, due = Leases.read_claim(call('HGET', holders_of(topic_of(ids[i])), ids[i]) or '')
    if its_nonce == nonce then
      Places.take(ids[i])
      Attempts.forget_progress(ids[i])
      Places.put_for_retry(ids[i], due, false)
      number = number + 1
    end
  end
  -- A job of the claim that was cancelled since then stops counting as in flight (lib/lingering.lua), because its
  -- attempt never began.
  local lingering = has(holder.lingering) and examine(holder.lingering) or {}
  for i = 1, #lingering do
    if string.match(lingering[i], '[^\n]+$') == nonce then
      Lingering.free(lingering[i])
      Places.touch(topic_of(lingering[i]))
    end
  end
  Places.finish()
  return {now_us, number}
end)
