-- alert.lua - begins, counts and ends alerts, and schedules the jobs that report it. An alert and its job change in one
-- call, so no alert is lost or reported twice, if the caller dies or another process decides at the same time.
--
-- ARGV[2] time of the facts by which the caller has decided, us
-- then for each change:
--   name    of the episode, see job/alert/alert.h; or empty: the job only tries an alert out
--   old     state that the caller has read; empty: no episode
--   new     state; empty: the episode ends
--   job     id of the job, in the topic duepost~alerts; empty: no job
--   record  of the job, as in schedule.lua
-- Returns {now_us, result ...}. A result is 1 (done), 0 (the state is another one, or the facts are old) or FULL: too many
-- alerts have begun, or too many of their jobs wait.

local OLD_US = 10000000 -- facts of a process that stood still say nothing about the present
local EPISODES_MAX, JOBS_MAX = 1000, 1000

local function add_job(id, record)
  local at, created = Records.due_of('0')
  local text, expires = Records.complete(created, record)
  if call('HSETNX', JOBS, id, text) == 0 then return end
  Expiries.note(id, expires)
  Places.put(id, at)
end

local function change(name, old, new, job, record, room)
  local key = Alerting.episodes()
  if name ~= '' and (call('HGET', key, name) or '') ~= old then return 0 end
  if job ~= '' and room < 1 or name ~= '' and old == '' and call('HLEN', key) >= EPISODES_MAX then return RESULT.FULL end
  if name ~= '' and new == '' then call('HDEL', key, name) elseif name ~= '' then call('HSET', key, name, new) end
  if job ~= '' then add_job(job, record) end
  return 1
end

script('alert', {'allow-oom'}, {Alerting, Expiries, Places, Quotas, Records}, function()
  if (#ARGV - 2) % 5 ~= 0 then error('wrong number of arguments') end
  for i = 6, #ARGV, 5 do
    if ARGV[i] ~= '' and not string.match(ARGV[i], '^duepost~alerts/.') then error('another topic') end
  end
  probe()
  local replies, room = {now_us}, JOBS_MAX - Quotas.pending(Alerting.TOPIC)
  local is_old = math.abs(now_us - tonumber(ARGV[2])) > OLD_US
  for i = 3, #ARGV, 5 do
    local result = is_old and 0 or change(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], room)
    if result == 1 and ARGV[i + 3] ~= '' then room = room - 1 end
    replies[#replies + 1] = result
  end
  Places.finish()
  return replies
end)
