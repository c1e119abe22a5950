#!lua flags=allow-oom
-- open.lua - says, or learns, how the data is laid out.
--
-- ARGV[2] our format   [3] our number of shards   [4] 1: data that says neither gets ours, and data of an older format ours:
--      the janitor moves what lies elsewhere now
-- Returns {now_us, format, shards} of the data; 0 where it says neither.
-- uses: clock probe
local META = base .. 'meta'
probe()
if ARGV[4] == '1' then
  call('HSETNX', META, 'format', ARGV[2])
  call('HSETNX', META, 'shards', ARGV[3])
  if tonumber(call('HGET', META, 'format')) < tonumber(ARGV[2]) then call('HSET', META, 'format', ARGV[2]) end
end
local meta = call('HMGET', META, 'format', 'shards')
return {now_us, tonumber(meta[1] or 0), tonumber(meta[2] or 0)}
