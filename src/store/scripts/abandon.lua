-- abandon.lua - releases the jobs of a claim whose reply never came. Without this script, the jobs would wait until
-- their leases end. Each released job is due again at its old time. If Redis receives the delayed claim only after this
-- script, recover.lua releases the jobs when their leases have run out.
--
-- ARGV[2] nonce of the claim   [3] maximum number of leases to examine; jobs that are not found here are released by
--   recover.lua
-- ARGV[4] [5] only for a claim by lease.lua: length of its leases, ms, and how long ago it was sent, ms
-- Returns {now_us, number of jobs}.

script('abandon', {'allow-oom'}, {Lingering, Places}, function()
  local nonce, most = ARGV[2], tonumber(ARGV[3])
  local ids
  if ARGV[4] then
    local last = now + tonumber(ARGV[4])
    ids = call('ZRANGEBYSCORE', WORKERS.leases, integer(last - tonumber(ARGV[5])), integer(last), 'LIMIT', 0, most)
  else
    ids = call('ZRANGE', CONSUMERS.leases, 0, most - 1)
  end
  local number = 0
  probe_keys()
  for i = 1, #ids do
    local claim = call('HGET', holders_of(topic_of(ids[i])), ids[i])
    if claim and string.match(claim, '^%S+') == nonce then
      Places.take(ids[i])
      Places.put_for_retry(ids[i], string.match(claim, '%S+$'), false)
      number = number + 1
    end
  end
  -- A job of the claim that was cancelled since then stops counting as in flight (lib/lingering.lua), because its
  -- attempt never began.
  local lingering_key = (ARGV[4] and WORKERS or CONSUMERS).lingering
  local lingering = has(lingering_key) and call('ZRANGE', lingering_key, 0, most - 1) or {}
  for i = 1, #lingering do
    if string.match(lingering[i], '[^\n]+$') == nonce then
      Lingering.free(lingering[i])
      Places.touch(topic_of(lingering[i]))
    end
  end
  Places.finish()
  return {now_us, number}
end)
