-- bell.lua - the only writer of the doorbell: the list "ready", on which idle consumers wait (BLPOP).
-- uses: offer

local READY = base .. 'ready'

-- Adds the name of a topic with due jobs to "ready", unless a name is waiting there. The name wakes one consumer. When
-- this consumer claims jobs and some are left, the claim rings again, for the next consumer.
local function ring()
  local first = call('ZRANGE', TURNS, '0', '0')[1]
  if first and call('LLEN', READY) == 0 then call('RPUSH', READY, first) end
end
