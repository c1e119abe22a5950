#!lua flags=allow-oom
-- open.lua - says, or learns, how the data is laid out.
--
-- ARGV[2] our format   [3] our number of shards   [4] 1: data that says neither gets ours
-- Returns {now_us, format, shards} of the data; 0 where it says neither.
-- uses: clock probe
local META = base .. 'meta'
probe()
if ARGV[4] == '1' then
  call('HSETNX', META, 'format', ARGV[2])
  call('HSETNX', META, 'shards', ARGV[3])
end
local meta = call('HMGET', META, 'format', 'shards')
return {now_us, tonumber(meta[1] or 0), tonumber(meta[2] or 0)}
