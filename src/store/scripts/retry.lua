-- retry.lua - ends attempts that failed, or whose receiver asked for a later delivery. Puts the jobs back among the
-- waiting jobs of their topics, for their next attempt or with their old due time.
--
-- ARGV from 2: id, nonce, wait in ms from now, or -1, record, the attempt's line or '', ...; then the
--      follow-ups, see follow_ups.lua
-- An attempt with a 2xx status in its line has not failed, so it is not counted as a failure.
-- Returns {now_us, result ...}. A result is 1 (done), 0 (stale) or REPLACED.

-- Returns the earliest next due time of a job whose lease was lost: the due time that recover.lua has given it, or
-- the time of its death. The job's new due time is not before this time, so it is not delivered early if the clock
-- has stepped back.
local function earliest_of(id)
  return math.max(now, ms_of(call('ZSCORE', bucket_of(topic_of(id)), id) or call('ZSCORE', DEAD, id) or now))
end

script('retry', {'allow-oom'}, {Attempts, Ended, Expiries, Fence, Fifo, FollowUps, Hours, Lanes, Lingering, Places, Stream}, function()
  if FollowUps.are_there() then FollowUps.take(2, 5) end
  check_ends(2, 5, 3)
  local verdicts, claims = Fence.verdicts(2, 5)
  local replies = {now_us}
  for i = 2, #ARGV, 5 do
    local number, id = (i + 3) / 5, ARGV[i]
    replies[number + 1] = verdicts[number] and 1 or 0
    if verdicts[number] then
      local wait = tonumber(ARGV[i + 2])
      local due = claims[number] and string.match(claims[number], '(%S+)$')
      local keeps_place = Fifo.line_of(id)
      local earliest = wait < 0 and not due and earliest_of(id)
      if keeps_place then due = due or call('ZSCORE', bucket_of(topic_of(id)), id) end
      if verdicts[number] == 'dead' then Ended.bring_back(id) end
      Places.take(id)
      Attempts.forget_losses(id)
      Attempts.forget_progress(id)
      Attempts.note(id, ARGV[i + 4])
      call('HSET', JOBS, id, ARGV[i + 3])
      Expiries.note_of(id, ARGV[i + 3])
      if wait >= 0 then Lanes.note_retry(id) end
      if not string.find(ARGV[i + 4], '^%S+ %d+ %d+ 2%d%d') then Hours.count_failure(topic_of(id), 'r', ARGV[i + 4]) end
      local at = earliest or soonest + wait
      if keeps_place and due then
        Places.put_for_retry(id, due, wait >= 0 and at)
      else
        if wait < 0 and due then Places.put_back(id, due) else Places.put_new(id, at) end
      end
      Stream.add_end(topic_of(id), id, 'retried', ARGV[i + 4])
      if FollowUps.by_item[number] then FollowUps.schedule(FollowUps.by_item[number], id) end
    else
      replies[number + 1] = Lingering.finish(id, ARGV[i + 1])
    end
  end
  Hours.write()
  Ended.finish()
  Places.finish()
  return replies
end)
