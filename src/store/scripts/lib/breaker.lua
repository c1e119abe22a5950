-- breaker.lua - stores which waiting jobs are held because the circuit breaker of their receiver is open, or because
-- neither the job nor its topic has a url.
-- uses: clock

-- The key breaker:<receiver> has for each held job its id and the time until which it is held. The script resume.lua
-- reads this key to find the held jobs. A job that is cancelled or leased during its hold keeps its entry here. Each
-- call that adds entries removes those whose hold ended more than GUIDE_MS ago.
local GUIDE_MS = 60000
local function breaker_of(receiver) return base .. 'breaker:' .. receiver end

-- Jobs that are held because neither they nor their topic have a url are stored like those of a receiver with this
-- name. No receiver has such a name, because its host would be empty.
local function no_url_of(topic) return '/' .. topic end

local guides = {} -- receiver -> the entries that this call adds: time, id, time, id ...
local function hold_by_breaker(receiver, id, at)
  local guide = guides[receiver] or {}
  guides[receiver] = guide
  guide[#guide + 1] = integer(at)
  guide[#guide + 1] = id
end

-- Writes the entries. A key expires 20 minutes after its last entry was added; a hold lasts at most 10 minutes.
local function write_guides()
  for receiver, guide in pairs(guides) do
    local key = breaker_of(receiver)
    call('ZADD', key, unpack(guide))
    call('ZREMRANGEBYSCORE', key, '-inf', '(' .. integer(now - GUIDE_MS))
    call('PEXPIRE', key, '1200000')
  end
end
