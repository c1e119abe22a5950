-- bell.lua - the only writer of the doorbell, ready.
-- uses: offer

local READY = base .. 'ready'

-- At most one name waits in ready: it wakes one consumer, and the claim of this consumer rings for the next
-- consumer.
local function ring()
  local first = call('ZRANGE', TURNS, '0', '0')[1]
  if first and call('LLEN', READY) == 0 then call('RPUSH', READY, first) end
end
