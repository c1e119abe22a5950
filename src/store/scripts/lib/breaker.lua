-- breaker.lua - stores which waiting jobs an open circuit breaker holds.
-- uses: clock

-- The key breaker:<receiver> has for each id the time until which the job is held. It is a guide for
-- resume.lua and not a place: it may also have ids of jobs that have been cancelled or leased since then.
-- Such an id stays for at most GUIDE_MS after that time.
local GUIDE_MS = 60000
local function breaker_of(receiver) return base .. 'breaker:' .. receiver end

local guides = {} -- receiver -> time, id, time, id ...
local function hold_by_breaker(receiver, id, at)
  local guide = guides[receiver] or {}
  guides[receiver] = guide
  guide[#guide + 1] = integer(at)
  guide[#guide + 1] = id
end

-- Holds last at most 10 minutes, so the key expires if its receiver is not used any more.
local function write_guides()
  for receiver, guide in pairs(guides) do
    local key = breaker_of(receiver)
    call('ZADD', key, unpack(guide))
    call('ZREMRANGEBYSCORE', key, '-inf', '(' .. integer(now - GUIDE_MS))
    call('PEXPIRE', key, '1200000')
  end
end
