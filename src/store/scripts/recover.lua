#!lua flags=allow-oom
-- recover.lua - jobs whose lease ran out return. That is no failure of the receiver: no attempt is
-- spent. First loss: due at once, with its old time. Second to fourth: after a random wait, so that
-- a job which kills its consumer does not take its neighbours along. Fifth: dead, a few MiB of them in one call. The places in flight of cancelled jobs
-- whose consumer was lost are freed.
--
-- ARGV[2] lease, ms   [3] what the caller expects Redis's clock to say, ms   [4] the most jobs, and the most places
-- ARGV[5] a seed
-- Returns {now_us, -1} when the clock has stepped by more than a second: live consumers must get to
-- renew first. Else {now_us, number, id, ..., id of one of them that is dead, ...}.
-- uses: bury crashes lingering lost places probe take
local lease_ms = tonumber(ARGV[2])
local LOSSES_MAX = 5
if math.abs(now - tonumber(ARGV[3])) > STEP_MS then return {now_us, -1} end
math.randomseed(tonumber(ARGV[5]))

local ids, ended, dead = lost_of(LEASES, lease_ms, ARGV[4]), {}, {}
local lingering = has(LINGERING) and lost_of(LINGERING, lease_ms, ARGV[4]) or {}
probe()
for i = 1, #ids do
  local id = ids[i]
  if has_read_enough() then break end
  ended[i] = id
  local claim = call('HGET', holders_of(topic_of(id)), id) or ('- ' .. integer(now))
  local nonce, due = string.match(claim, '^(%S+) (%S+)$')
  if not tonumber(due) then nonce, due = '-', integer(now) end -- somebody else wrote it
  local losses = losses_of(id) + 1
  take(id)
  touch(topic_of(id), 'all')
  call('HSET', CRASHES, id, losses .. ' ' .. nonce)
  if losses >= LOSSES_MAX then
    bury(id, call('HGET', JOBS, id) or 'null', losses .. '/' .. nonce, '')
    dead[#dead + 1] = id
  elseif losses > 1 then
    -- A clock that stepped back makes no job early.
    local at = now + math.random(0, 2 ^ losses * lease_ms)
    if tonumber(due) > at then put_back(id, due) else put(id, at) end
  else
    put_back(id, due)
  end
end
for i = 1, #lingering do
  free_place(lingering[i])
  touch(topic_of(lingering[i]))
end
write_counts()
date_dead_topics()
finish()
local replies = {now_us, #ended, unpack(ended)}
for i = 1, #dead do replies[#replies + 1] = dead[i] end
return replies
