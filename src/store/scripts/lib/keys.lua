-- keys.lua - names of the keys, which share one hash tag, and the function that calls Redis.
--
-- KEYS[1] is <prefix>{<shard>}:jobs. All other names are derived from it.

local call = redis.call
local JOBS = KEYS[1]
local base = string.sub(JOBS, 1, -5)
local META = base .. 'meta' -- format, shards, born (ms), and the places of walks through all topics
local LEASES, DEAD = base .. 'leases', base .. 'dead'
local function bucket_of(topic) return base .. 'bucket:' .. topic end
local function holders_of(topic) return base .. 'holders:' .. topic end
