-- certificates.lua - the certificates that receivers have shown: the sorted set certificates has host:port -> until when the
-- receiver's certificate is valid, ms. The set has receivers that are healthy, too.

local Certificates = {uses = {}}

-- Times in ms after the end of a certificate. A receiver that still shows it cannot be reached. So if nothing has
-- been noted for a week, no jobs are sent there any more, or the receiver is given up, and the set forgets it.
local KEPT_MS = 604800000
local MAX = 10000 -- with more receivers, those whose certificates end last are forgotten

local function key() return base .. 'certificates' end

function Certificates.note(name, until_ms) call('ZADD', key(), until_ms, name) end

function Certificates.trim()
  call('ZREMRANGEBYSCORE', key(), '-inf', '(' .. integer(now - KEPT_MS))
  call('ZREMRANGEBYRANK', key(), MAX, -1)
end

-- Returns for each name until when the receiver's certificate is valid, ms, or -1. A path has the certificate of its host.
function Certificates.of(names)
  if #names == 0 then return {} end
  local hosts = {}
  for i = 1, #names do hosts[i] = string.match(names[i], '^[^/]*') end
  local found = call('ZMSCORE', key(), unpack(hosts))
  for i = 1, #names do
    local until_ms = tonumber(found[i]) or -1
    found[i] = until_ms >= now - KEPT_MS and until_ms or -1
  end
  return found
end

-- Returns the receivers (maximum: most) whose certificates end within this time, the first one first.
function Certificates.ending(within_ms, most)
  return call('ZRANGE', key(), integer(now - KEPT_MS), integer(now + within_ms), 'BYSCORE', 'LIMIT', 0, most)
end

return Certificates
