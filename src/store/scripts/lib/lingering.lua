-- lingering.lua - attempts that still run although their job was cancelled.
-- uses: has topic

-- Each such attempt still counts as in flight: it has a field, with the same name as in LINGERING, in
-- holders:<topic>, until the attempt ends or its deadline passes. Renewals of the attempt move the deadline.
-- LINGERING: id, newline, nonce -> deadline, ms.
local function place_of(id, nonce) return id .. '\n' .. nonce end

local function is_lingering(place) return has(LINGERING) and call('ZSCORE', LINGERING, place) ~= false end

-- The caller offers the topic.
local function free_place(place)
  call('ZREM', LINGERING, place)
  call('HDEL', holders_of(topic_of(place)), place)
end
