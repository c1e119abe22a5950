-- breaker.lua - stores which waiting jobs an open circuit breaker holds.
-- uses: clock

-- The key breaker:<receiver> has for each id the time until which the job is held. resume.lua reads this key to find
-- the held jobs. The jobs themselves are in their buckets, so the key may also have ids of jobs that have been
-- cancelled or leased in the meantime. Such an id stays for at most GUIDE_MS after the end of its hold.
local GUIDE_MS = 60000
local function breaker_of(receiver) return base .. 'breaker:' .. receiver end

local guides = {} -- receiver -> time, id, time, id ...
local function hold_by_breaker(receiver, id, at)
  local guide = guides[receiver] or {}
  guides[receiver] = guide
  guide[#guide + 1] = integer(at)
  guide[#guide + 1] = id
end

-- Holds last at most 10 minutes. The key of a receiver expires if no further job of the receiver is held.
local function write_guides()
  for receiver, guide in pairs(guides) do
    local key = breaker_of(receiver)
    call('ZADD', key, unpack(guide))
    call('ZREMRANGEBYSCORE', key, '-inf', '(' .. integer(now - GUIDE_MS))
    call('PEXPIRE', key, '1200000')
  end
end
