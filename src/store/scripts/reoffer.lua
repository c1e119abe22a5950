#!lua flags=allow-oom
-- reoffer.lua - one step of limited size that offers topics again, after the settings of patterns have changed.
--
-- ARGV[2] maximum number of topics
-- Returns {now_us, number of topics, 1 if there are more}.
-- uses: probe reoffer
local walks = call('HMGET', META, 'reoffer', 'reoffer_lines')
if not walks[1] and not walks[2] then return {now_us, 0, 0} end
probe()
local number, has_more = reoffer(tonumber(ARGV[2]))
finish()
return {now_us, number, has_more and 1 or 0}
