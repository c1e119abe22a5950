-- schedules.lua - definitions of schedules, and the times at which they fire next.
--
-- An id is topic/scheduleId. A schedule that is paused or has ended is not in "fires".
--
-- FIRED has id -> 'tag outcome missed time at job'. tag is the SHA-1 of the definition. The next four fields describe
-- the last time of the schedule that has passed: outcome is what happened ('-' before the first time), missed is 1 if
-- earlier times were missed, else 0, time is this time, and at is when the outcome was written. job is the id of the
-- last job that was created, or empty.
--
-- SKIPPED has schedules that have missed some of their times and skipped them. If the clock steps back to before a
-- skipped time, this time is fired after all.

local Schedules = {uses = {}}

Schedules.NOT_FIRED = '- 0 0 0 '

-- Returns the tag and the rest of a schedule's entry in FIRED, or nothing if the schedule does not exist.
function Schedules.fired(id)
  local entry = call('HGET', FIRED, id)
  if not entry then return end
  return string.match(entry, '^(%S+) (.*)$')
end

function Schedules.first_fire() return tonumber(call('ZRANGE', FIRES, 0, 0, 'WITHSCORES')[2] or 'inf') end

-- Returns whether the clock is before a time in SKIPPED_UNTIL, so that the next time of that schedule must be computed
-- again.
function Schedules.has_clock_stepped_back()
  local last = call('ZRANGE', SKIPPED_UNTIL, -1, -1, 'WITHSCORES')[2]
  return last and tonumber(last) > now
end

return Schedules
