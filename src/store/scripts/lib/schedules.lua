-- schedules.lua - definitions of schedules, and the times at which they fire next.
--
-- An id is topic/scheduleId. A schedule that is paused or has ended is not in "fires".
-- uses: clock publish

local SCHEDULES = base .. 'schedules' -- id -> definition, see recurring.h
local FIRES = base .. 'fires' -- id -> time of the next occurrence, ms; if this occurrence is held, the end of its hold
local SCHEDULE_NAMES = base .. 'schedule_names' -- the ids by name; all scores are 0

-- id -> 'tag outcome missed time at job': tag is the SHA-1 of the definition. outcome, missed, time and at belong to
-- the last time of the schedule that has passed: its outcome ('-' before the first time), 1 if it was missed, the
-- time itself, and when the outcome was written. job is the id of the last job that was created, or empty.
local FIRED = base .. 'fired'
local NOT_FIRED = '- 0 0 0 '

-- Schedules of which some times were missed and skipped. The skipped times are fired if the clock steps back.
local SKIPPED = base .. 'skipped' -- id -> see recurrence_progress.h
-- id -> time, ms: if the clock is before this time, the schedule's next time must be computed again
local SKIPPED_UNTIL = base .. 'skipped_until'

-- Returns the tag of a schedule's definition and the rest of its entry, or nothing if there is no schedule.
local function fired_of(id)
  local entry = call('HGET', FIRED, id)
  if not entry then return end
  return string.match(entry, '^(%S+) (.*)$')
end

local function first_fire() return tonumber(call('ZRANGE', FIRES, 0, 0, 'WITHSCORES')[2] or 'inf') end

-- Returns whether the clock is before a time that a schedule has skipped. If so, the next time of that schedule must be
-- computed again.
local function has_clock_stepped_back()
  local last = call('ZRANGE', SKIPPED_UNTIL, -1, -1, 'WITHSCORES')[2]
  return last and tonumber(last) > now
end
