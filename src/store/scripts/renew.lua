-- renew.lua - gives leases a new deadline.
--
-- ARGV from 2: id, nonce, lease in ms from now, how far the attempt is, as JSON, or '', ...
-- Returns {now_us, result ...}. A result is the new deadline, or 0 if the nonce does not hold the lease. It is CANCELLED
-- or REPLACED if the job was cancelled or replaced and its attempt still counts as in flight. The place of a consumer's
-- attempt then gets the deadline; a worker's attempt counts until the deadline that the worker knows (lib/leases.lua).

script('renew', {'allow-oom'}, {Attempts, Fence, Leases, Lingering, Stream}, function()
  check_items(2, 4, 3)
  probe_slot()
  local verdicts = Fence.verdicts(2, 4, true)
  local replies = {now_us}
  for i = 2, #ARGV, 4 do
    local id, nonce, number = ARGV[i], ARGV[i + 1], (i + 2) / 4
    local holder = Leases.holder(nonce)
    local deadline = Leases.now_of(holder) + tonumber(ARGV[i + 2])
    local has_lease = verdicts[number] == 'lease'
    if has_lease and holder == WORKERS then has_lease = tonumber(call('ZSCORE', holder.leases, id) or 0) > now end
    if has_lease then
      call('ZADD', holder.leases, 'XX', integer(deadline), id)
      if ARGV[i + 3] ~= '' then
        Attempts.note_progress(id, ARGV[i + 3])
        Stream.add(topic_of(id), id, 'progress', ARGV[i + 3])
      end
      replies[number + 1] = deadline
    else
      local place = Lingering.place(id, nonce)
      local why = Lingering.why(place)
      if why and holder == CONSUMERS then call('ZADD', holder.lingering, integer(deadline), place) end
      replies[number + 1] = why == 'replaced' and RESULT.REPLACED or why and RESULT.CANCELLED or 0
    end
  end
  return replies
end)
