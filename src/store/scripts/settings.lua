-- settings.lua - writes the settings of topics, unless they have changed since the caller read them.
--
-- ARGV from 2: topic; the text that was read, or empty; the text to write, or empty to remove the settings; ...
-- Returns {now_us, result ...}. A result is 1 (done), 0 (changed) or NO_LIMIT.
-- If a topic turns its circuit breaker off, or has a url again, its held jobs must resume: this script resumes some of them, and
-- reoffer.lua the others.

local RESUME_MAX = 500 -- number of jobs, as in hold.c; takes less than 5 ms of Redis's time
-- Makes changed settings take effect. had_breaker: the setting "breaker" was true before this change.
local function apply(topic, had_breaker)
  if not settings_of(topic).rate then
    call('HDEL', RATES, topic)
    call('DEL', Rates.begun_key(topic))
  end
  if is_pull(topic) then raise_format(FORMAT.PULL) end
  if settings_of(topic).maxPending then raise_format(FORMAT.QUOTAS) end
  Openings.forget(topic)
  Places.touch(topic, 'all')
  Places.leave_fifo(topic)
  Resuming.start(topic, had_breaker)
  Ended.touch_dead(topic)
  local first_sibling = call('ZRANGE', NAMES, '[' .. topic .. '~', '(' .. topic .. '\127', 'BYLEX', 'LIMIT', 0, 1)[1]
  -- The retention also applies to dead jobs of sibling topics (orders~callbacks), so the next sweeps correct the
  -- times at which these are removed.
  if first_sibling then call('HSET', META, 'redate', '0') end
end

script('settings', {'allow-oom'}, {Alerting, Ended, Holds, Limits, Openings, Places, Quotas, Rates, Resuming, Stream}, function()
  probe()
  local replies = {now_us}
  for i = 2, #ARGV, 3 do
    local topic, old, new = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if (call('HGET', TOPICS, topic) or '') ~= old then
      replies[#replies + 1] = 0
    elseif Limits.named_in(new) and not Limits.exists(Limits.named_in(new)) then
      replies[#replies + 1] = RESULT.NO_LIMIT
    else
      local limit = Limits.of(topic)
      local had_breaker, was_paused = has(HELD) and settings_of(topic).breaker == true, settings_of(topic).paused
      local had_quota, had_events = settings_of(topic).maxPending, Stream.is_on(topic)
      if new == '' then
        call('HDEL', TOPICS, topic)
      else
        call('HSET', TOPICS, topic, new)
        note_settings_key(TOPICS, true)
      end
      note_settings(topic, new ~= '' and new or nil)
      Alerting.note(topic, Alerting.are_in(new))
      Limits.note_user(topic, Limits.named_in(old), Limits.named_in(new))
      if limit and limit ~= Limits.of(topic) then Limits.leave(topic, limit) end
      if was_paused and not settings_of(topic).paused then Holds.note_resumed(topic) end
      if had_quota and not settings_of(topic).maxPending then Quotas.forget() end
      if had_events and not Stream.is_on(topic) then Stream.forget(topic) end
      apply(topic, had_breaker)
      replies[#replies + 1] = 1
    end
  end
  if has(HELD) then Resuming.step(RESUME_MAX) end
  Ended.finish()
  Places.finish()
  return replies
end)
