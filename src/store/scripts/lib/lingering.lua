-- lingering.lua - attempts that still run although their job was cancelled.
-- uses: has topic

-- Each keeps its place in flight: a field in holders:<topic>, of this name too, until the attempt ends or the place
-- expires. A renewal of the attempt moves the expiry.
-- LINGERING: id, newline, nonce -> expiry of the place, ms.
local function place_of(id, nonce) return id .. '\n' .. nonce end

local function is_lingering(place) return has(LINGERING) and call('ZSCORE', LINGERING, place) ~= false end

-- The caller offers the topic.
local function free_place(place)
  call('ZREM', LINGERING, place)
  call('HDEL', holders_of(topic_of(place)), place)
end
