#!lua flags=allow-oom
-- open.lua - says, or learns, how the data is laid out.
--
-- ARGV[2] our format   [3] our number of shards     Returns {now_us, format, shards} of the data.
local META = base .. 'meta'
call('HSETNX', META, 'format', ARGV[2])
call('HSETNX', META, 'shards', ARGV[3])
local meta = call('HMGET', META, 'format', 'shards')
return {now_us, tonumber(meta[1]), tonumber(meta[2])}
