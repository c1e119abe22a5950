-- carry.lua - one step of the carry worker, which makes due jobs available. The step keeps or takes the lock, offers
-- the topics whose time has come, and rings the doorbell (lib/turns.lua). The owner of the lock does
-- the work; the other processes are standbys. Two carry workers at the same time do no harm, so a standby offers
-- topics that the owner has left overdue.
--
-- ARGV[2] name of the calling process   [3] 1: the call that each process makes once a second; if the process is the
--      owner, the script raises the beat, a number by which standbys see that the owner works; 2: the same without the
--      beat, if there is no other process to watch it, so that an idle Redis writes nothing; 0: a call between two of
--      these; -1: releases the lock
-- ARGV[4] maximum number of topics
-- ARGV[5] [6] owner and beat of a lock that has not changed for too long, which is taken over; else empty
-- ARGV[7] lease, ms   [8] time by which a topic must be overdue before a standby offers it, ms
-- ARGV[9] time that Redis's clock should show by the caller's reckoning, ms, or -1; see lib/clock_steps.lua
-- Returns {now_us, owner, beat, next due time or -1, ms until the first lease runs out (0: a lease has run out; -1:
-- there are no leases), number of topics offered, chores, and the first time at which a schedule fires, if there is
-- one}. The chores are a letter for each call that has work to do: t if a claim would find due jobs, f if forget.lua
-- would find idempotency keys, sends or ids of waited, r if nothing may be removed by age now, and the letters of chores_to_do. Only
-- expired idempotency keys are looked for in each call, the other chores once a second. A standby gets -1 for the leases,
-- and no chore but t, because the owner does the others. Attempts of cancelled jobs that still run count as leases here,
-- and so do leases of workers.

-- Returns a letter for each of these calls of the lock's owner that has, or may have, work to do, so that an idle Redis
-- runs few scripts: e for expire.lua, within the second until the next query, s for sweep.lua, o for reoffer.lua, a for
-- archive.lua, n for trail.lua, w for openings.lua, l for symptoms.lua.
local EXPIRY_MS = 1000
local function chores_to_do()
  local walks = call('HMGET', META, 'redate', 'reoffer', 'reoffer_lines', 'resume_held', 'leap')
  local sweeps = walks[1] or call('EXISTS', KEPT_UNTIL, DEAD_DUE, DEAD, RATES) > 0
  local offers = walks[2] or walks[3] or walks[4] or walks[5] or call('EXISTS', RESUMING) == 1
  local archives = call('EXISTS', ENDED, ENDED_IDS, ENDED_READ) > 0
  local expiry = has(EXPIRIES) and call('ZRANGE', EXPIRIES, '0', '0', 'WITHSCORES')[2]
  local expires = expiry and tonumber(expiry) <= now + EXPIRY_MS
  return (expires and 'e' or '') .. (sweeps and 's' or '') .. (offers and 'o' or '') .. (archives and 'a' or '')
    .. (call('EXISTS', base .. 'trail') == 1 and 'n' or '')
    .. (call('EXISTS', Openings.wanted()) == 1 and 'w' or '') .. (Alerting.is_used() and 'l' or '')
end

local function first_due() return tonumber(call('ZRANGE', DUE, '0', '0', 'WITHSCORES')[2] or 'inf') end

local function until_lost(holder, key, lease_ms)
  if key ~= CONSUMERS.leases and not has(key) then return math.huge end
  local first = tonumber(call('ZRANGE', key, '0', '0', 'WITHSCORES')[2])
  if not first then return math.huge end
  return Leases.lost(holder, key, lease_ms, 1)[1] and 0 or first - Leases.now_of(holder)
end

local function has_old(key) return call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 1)[1] end

script('carry', {'allow-oom'}, {Alerting, ClockSteps, Leases, Openings, Places, Schedules, Turns, Waited}, function()
  local CARRY = base .. 'carry' -- the lock: owner, beat, at
  local is_tick = ARGV[3] == '1' or ARGV[3] == '2'
  local me, most, lease_ms, patience_ms = ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[7]), tonumber(ARGV[8])
  probe()
  local lock = call('HMGET', CARRY, 'owner', 'beat')
  local owner, beat = lock[1], tonumber(lock[2]) or 0
  local is_stuck = owner and owner == ARGV[5] and integer(beat) == ARGV[6]
  if not owner or is_stuck then owner = me end
  local is_owner = owner == me
  if ARGV[3] == '-1' then
    if not is_owner then return {now_us, owner, beat, -1, -1, 0, ''} end
    publish('carry') -- wakes the standbys before their next tick
    call('DEL', CARRY)
    if ARGV[9] then ClockSteps.watch(-1) end
    return {now_us, '', beat, -1, -1, 0, ''}
  end
  if is_owner and (ARGV[3] == '1' or lock[1] ~= me) then
    beat = beat + 1
    call('HSET', CARRY, 'owner', me, 'beat', integer(beat), 'at', integer(now))
  end
  local next_due, until_ms = first_due(), is_owner and now or now - patience_ms
  local topics = next_due <= until_ms and Turns.topics_to_carry(until_ms, most) or {}
  Turns.look_at_holders(topics, most)
  for i = 1, #topics do Places.touch(topics[i], 'left') end
  Places.finish()
  if not Turns.has_added and is_tick and is_owner then Turns.ring() end
  if #topics > 0 or has(SUSPECTS) then next_due = first_due() end
  if next_due == math.huge then next_due = -1 end
  local next_fire = Schedules.first_fire()
  if is_tick and Schedules.has_clock_stepped_back() then next_fire = now end
  if next_fire == math.huge then next_fire = nil end
  local chores = is_tick and call('EXISTS', TURNS) == 1 and 't' or ''
  if not is_owner then return {now_us, owner, beat, next_due, -1, #topics, chores, next_fire} end
  local first_lost = math.huge
  for _, holder in ipairs(HOLDERS) do
    first_lost = math.min(first_lost, until_lost(holder, holder.leases, lease_ms), until_lost(holder, holder.lingering, lease_ms))
  end
  if has_old(WINDOWS) or is_tick and (has_old(SENDS_UNTIL) or Waited.has_old()) then chores = chores .. 'f' end
  if is_tick then chores = chores .. chores_to_do() end
  if is_tick and ARGV[9] and ClockSteps.watch(tonumber(ARGV[9])) then chores = chores .. 'r' end
  return {now_us, owner, beat, next_due, first_lost < math.huge and first_lost or -1, #topics, chores, next_fire}
end)
