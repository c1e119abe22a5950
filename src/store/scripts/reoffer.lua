#!lua flags=allow-oom
-- reoffer.lua - one step of limited size that makes changed settings take effect: decides again which topics may be
-- served after the settings of patterns have changed (lib/reoffer.lua), and resumes held jobs of topics whose circuit
-- breaker was turned off (lib/resume.lua).
--
-- ARGV[2] maximum number of topics, and of held jobs
-- Returns {now_us, number of topics, 1 if there are more topics or held jobs}.
-- uses: probe reoffer resume
local most, walks = tonumber(ARGV[2]), call('HMGET', META, 'reoffer', 'reoffer_lines', 'resume_held')
local offers, resumes = walks[1] or walks[2], walks[3] or call('EXISTS', RESUMING) == 1
if not offers and not resumes then return {now_us, 0, 0} end
probe()
local number, has_more = 0, false
if offers then number, has_more = reoffer(most) end
if resumes and resume_step(most) then has_more = true end
finish()
return {now_us, number, has_more and 1 or 0}
