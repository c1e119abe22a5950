-- release.lua - ends leases of jobs that were not attempted. Each job is due again at its old time, or is held for some
-- time.
--
-- ARGV from 2, for each job:
--   id, nonce
--   wait      how long to hold the job from now, ms, or -1
--   claimed   time of its claim, ms
--   receiver  the receiver whose circuit breaker holds the job, or -
--   setting   1 if the breaker holds the job only because the topic's setting breaker was true at the claim; url if the
--             job is held because neither it nor its topic has a url; else 0
-- Returns {now_us, result ...}. A result is 1 (done), 0 (stale) or REPLACED.
--
-- If the topic has turned its breaker off since the claim, the breaker does not hold the job. Turning the breaker off
-- started a walk that resumes the topic's held jobs. If this walk is over, it cannot resume a job that is held only
-- now. The same applies to a topic that has a url again.

-- Counts the jobs of each claim and topic that have not used their token of the topic's rate, or of that of their lane. A job with a wait was not
-- sent, so its token is returned. A job without a wait may have been sent, so its token stays spent.
local unsent
local function note_unsent(topic, nonce, since)
  local key = nonce .. ' ' .. topic
  unsent[key] = unsent[key] or {topic = topic, number = 0, since = since}
  unsent[key].number = unsent[key].number + 1
end

local function is_free(topic, receiver, by_setting)
  if by_setting == 'url' then return Records.needs_no_url(topic) end
  if receiver == '-' then return false end
  local breaker = settings_of(topic).breaker
  return breaker == false or by_setting == '1' and not breaker
end

script('release', {'allow-oom'}, {Attempts, Fence, Holds, Lanes, Limits, Lingering, Places, Ranks, Rates, Records}, function()
  check_ends(2, 6, 3)
  for i = 5, #ARGV, 6 do
    if not string.match(ARGV[i], '^%d+$') then error('not a number') end
  end
  local verdicts, claims = Fence.verdicts(2, 6)
  unsent = {}
  local replies = {now_us}
  for i = 2, #ARGV, 6 do
    local number, id = (i + 4) / 6, ARGV[i]
    local has_lease = verdicts[number] == 'lease'
    replies[number + 1] = has_lease and 1 or 0
    if has_lease then
      local due, wait = string.match(claims[number], '(%S+)$'), tonumber(ARGV[i + 2])
      Places.take(id)
      Attempts.forget_progress(id)
      if wait >= 0 then
        note_unsent(topic_of(id), ARGV[i + 1], tonumber(ARGV[i + 3]))
        local lane = has_lanes and Lanes.name(topic_of(id), Ranks.key_in(Ranks.of(id)))
        if lane and settings_of(lane).rate then note_unsent(lane, ARGV[i + 1], tonumber(ARGV[i + 3])) end
      end
      if is_free(topic_of(id), ARGV[i + 4], ARGV[i + 5]) then wait = -1 end
      Places.put_for_retry(id, due, wait >= 0 and soonest + wait)
      if wait >= 0 then
        Holds.add(topic_of(id), id, due)
        local holder = ARGV[i + 5] == 'url' and Holds.no_url_of(topic_of(id)) or ARGV[i + 4]
        if holder ~= '-' then Holds.add_by_breaker(holder, id, soonest + wait) end
      end
    else
      replies[number + 1] = Lingering.finish(id, ARGV[i + 1])
    end
  end
  for _, claim in pairs(unsent) do 
    Rates.give_back(claim.topic, claim.number, claim.since)
    Limits.give_back(claim.topic, claim.number, claim.since)
  end
  Holds.write_breakers()
  Places.finish()
  return replies
end)
