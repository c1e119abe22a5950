-- reoffer.lua - one step of limited size that makes a change take effect: decides again which topics may be served
-- after the settings of patterns have changed or Redis's clock has stepped back (lib/reoffer.lua), moves the deadlines
-- of workers' leases after a step of the clock (lib/clock_steps.lua), and resumes held jobs of topics whose circuit
-- breaker was turned off, or which have a url again (lib/resuming.lua).
--
-- ARGV[2] maximum number of topics, of leases, and of held jobs   [3] how far Redis's clock has stepped since the last
--      call, ms; 0 if it has not
-- Returns {now_us, number of topics, 1 if there are more topics, leases or held jobs}.

script('reoffer', {'allow-oom'}, {ClockSteps, Lanes, Places, Reoffer, Resuming}, function()
  local most, step_ms = tonumber(ARGV[2]), tonumber(ARGV[3])
  probe()
  if step_ms ~= 0 then ClockSteps.start(step_ms) end
  -- A rate holds topics until a time that is now too far away.
  if step_ms < 0 and has(BEHIND) then Reoffer.start() end
  if step_ms < 0 and has_lanes then Lanes.start_again() end
  local walks = call('HMGET', META, 'reoffer', 'reoffer_lines', 'resume_held', 'leap')
  local offers, resumes = walks[1] or walks[2], walks[3] or call('EXISTS', RESUMING) == 1
  if not offers and not resumes and not walks[4] then return {now_us, 0, 0} end
  local number, has_more = 0, false
  if walks[4] then
    local _, goes_on = ClockSteps.step(most)
    has_more = goes_on
  end
  if offers then
    local count, place = Reoffer.step(most)
    number, has_more = count, has_more or place
  end
  if resumes and Resuming.step(most) then has_more = true end
  Places.finish()
  return {now_us, number, has_more and 1 or 0}
end)
