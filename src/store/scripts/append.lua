#!lua
-- append.lua - appends elements to workflows, and schedules a job for each element. All entries of an item are
-- appended, or none. The flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit
-- then for each item: id of the workflow (owner/workflowId), number of entries, and for each entry
--   role, job, when, record, element: see begin.lua; name of the event of the webhook that it creates, or ''
-- Returns {now_us, result ...}. A result is the time at which the workflow was created, ms; NOT_FOUND if no
-- workflow with this id is active; TAKEN if a job has one of the ids; FULL.
-- uses: probe topic waits workflows
local calls, at = {}, 3
while at <= #ARGV do
  local id, number = ARGV[at], tonumber(string.match(ARGV[at + 1] or '', '^%d+$'))
  if not string.match(id, '^[^/~]+/[^/]+$') then error('not an id') end
  if not number or at + 1 + 6 * number > #ARGV then error('wrong number of arguments') end
  for i = at + 2, at + 1 + 6 * number, 6 do
    if not string.match(ARGV[i], '^[sca]$') or not string.match(ARGV[i + 1], '^[^/]+/.') then error('not a job') end
    if owner_of(topic_of(ARGV[i + 1])) ~= topic_of(id) then error('another owner') end
    if not string.match(ARGV[i + 2], '^@?%d+$') then error('not a number') end
    if ARGV[i + 5] ~= '' and not is_hook(ARGV[i + 5]) then error('not a webhook') end
  end
  calls[#calls + 1] = at
  at = at + 2 + 6 * number
end
probe()
local max_jobs = tonumber(ARGV[2])
local room = max_jobs > 0 and max_jobs - jobs_below(max_jobs) or math.huge

local function append(at)
  local place, number = active_place(ARGV[at]), tonumber(ARGV[at + 1])
  if not place then return RESULT_NOT_FOUND end
  if number > room or call('HLEN', open_of(place)) + number > OPEN_MAX then return RESULT_FULL end
  if call('LLEN', elements_of(place)) + number > ELEMENTS_MAX then return RESULT_FULL end
  local is_new = {}
  for i = at + 2, at + 1 + 6 * number, 6 do
    if is_new[ARGV[i + 1]] or call('HEXISTS', JOBS, ARGV[i + 1]) == 1 then return RESULT_TAKEN end
    is_new[ARGV[i + 1]] = true
  end
  for i = at + 2, at + 1 + 6 * number, 6 do
    add_member(place, unpack(ARGV, i, i + 4))
    if ARGV[i + 5] ~= '' then note_hook(place, ARGV[i + 5]) end
  end
  room = room - number
  return tonumber(call('HGET', workflow_of(place), 'createdAt'))
end

local replies = {now_us}
for i = 1, #calls do replies[#replies + 1] = append(calls[i]) end
finish()
return replies
