-- keys.lua - names of the most used keys of a shard, and the function that calls Redis.
--
-- KEYS[1] is <prefix>{<shard>}:jobs, the hash id -> record of all jobs that have not ended (the pool). All other names
-- begin with <prefix>{<shard>}, too, so Redis Cluster has all keys of a shard on one node.

local call = redis.call
local JOBS = KEYS[1]
local base = string.sub(JOBS, 1, -5)
local META = base .. 'meta' -- data format, number of shards, born (when the data was created, ms), positions of walks
local LEASES, DEAD = base .. 'leases', base .. 'dead'
local function bucket_of(topic) return base .. 'bucket:' .. topic end
local function holders_of(topic) return base .. 'holders:' .. topic end
