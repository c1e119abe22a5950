#!lua flags=allow-oom
-- release.lua - ends leases without an attempt. Each job is due again at its old time, or is held for some
-- time.
--
-- ARGV from 2, for each job:
--   id, nonce
--   wait      how long to hold the job from now, ms, or -1
--   claimed   time of its claim, ms
--   receiver  whose circuit breaker holds the job, or -
-- Returns {now_us, 1 done or 0 stale, ...}.
--
-- A job is not held by a breaker if its topic's setting breaker is false: the setting may have changed since the claim.
-- uses: again breaker check fence linger take
-- plain: take
check(2, 5, 3)
for i = 5, #ARGV, 5 do
  if not string.match(ARGV[i], '^%d+$') then error('not a number') end
end
local verdicts, claims = fence(2, 5)

-- A job that is held was not sent. A job that is released without a wait may have been sent, so it has used
-- up a token of the rate.
local unsent = {}
local function note_unsent(topic, nonce, since)
  local key = nonce .. ' ' .. topic
  unsent[key] = unsent[key] or {topic = topic, number = 0, since = since}
  unsent[key].number = unsent[key].number + 1
end

local function is_free(topic, receiver) return receiver ~= '-' and has_settings() and settings_of(topic).breaker == false end

local replies = {now_us}
for i = 2, #ARGV, 5 do
  local number, id = (i + 3) / 5, ARGV[i]
  local has_lease = verdicts[number] == 'lease'
  replies[number + 1] = has_lease and 1 or 0
  if has_lease then
    local due, wait = string.match(claims[number], '(%S+)$'), tonumber(ARGV[i + 2])
    take(id)
    if wait >= 0 then note_unsent(topic_of(id), ARGV[i + 1], tonumber(ARGV[i + 3])) end
    if is_free(topic_of(id), ARGV[i + 4]) then wait = -1 end
    again(id, due, wait >= 0 and soonest + wait)
    if wait >= 0 then
      hold(topic_of(id), id, due)
      if ARGV[i + 4] ~= '-' then hold_by_breaker(ARGV[i + 4], id, soonest + wait) end
    end
  else
    end_lingering(id, ARGV[i + 1])
  end
end
for _, claim in pairs(unsent) do return_tokens(claim.topic, claim.number, claim.since) end
write_guides()
finish()
return replies
