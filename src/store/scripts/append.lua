-- append.lua - appends elements to workflows, and schedules a job for each element. All entries of an item are
-- appended, or none. The flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit
-- then for each item: id of the workflow (owner/workflowId), number of entries, and for each entry
--   role, job, when, record, element: see begin.lua; name of the event of the webhook that it creates, or ''; name of
--   the step (lib/workflows.lua), or ''. A step that the workflow has is not appended again
-- Returns {now_us, result ...}. A result is the time at which the workflow was created, ms; {job or '', ...} if the
-- workflow has some of the steps, with their first jobs; NOT_FOUND if no workflow with this id is active; TAKEN if a job
-- has one of the ids; FULL.

local SIZE = 7
local room

-- Returns for each entry of an item the first job of its step, or '' if the entry is appended; the number of entries
-- that are appended; and the highest number of a step that they plan.
local function find_steps(place, at, number)
  local firsts, named, count, last = {}, {}, 0, 0
  for i = at + 2, at + 1 + SIZE * number, SIZE do
    local step = ARGV[i + 6]
    local first = named[step] or Workflows.job_of_step(place, step) or ''
    firsts[#firsts + 1] = first
    if first == '' then
      count = count + 1
      if step ~= '' then named[step] = ARGV[i + 1] end
      last = math.max(last, tonumber(string.match(step, '^(%d+)p$') or 0))
    end
  end
  return firsts, count, last
end

local function append(at)
  local place, number = Workflows.active_place(ARGV[at]), tonumber(ARGV[at + 1])
  if not place then return RESULT.NOT_FOUND end
  local firsts, count, last = find_steps(place, at, number)
  if count > room or call('HLEN', Workflows.open_key(place)) + count > Workflows.OPEN_MAX then return RESULT.FULL end
  if call('LLEN', Workflows.elements_key(place)) + count > Workflows.ELEMENTS_MAX then return RESULT.FULL end
  local is_new = {}
  for n = 1, number do
    local id = ARGV[at + 2 + SIZE * (n - 1) + 1]
    if firsts[n] == '' then
      if is_new[id] or call('HEXISTS', JOBS, id) == 1 then return RESULT.TAKEN end
      is_new[id] = true
    end
  end
  for n = 1, number do
    local i = at + 2 + SIZE * (n - 1)
    local role, id, when, record, element, hook, step = unpack(ARGV, i, i + 6)
    if firsts[n] == '' then
      Workflows.add_member(place, role, id, when, record, element, Workflows.note_step(place, step, id, last))
      if hook ~= '' then Events.note_hook(place, hook) end
    end
  end
  room = room - count
  return count < number and firsts or tonumber(call('HGET', Workflows.key(place), 'createdAt'))
end

script('append', {}, {Events, Expiries, Places, Workflows}, function()
  local calls, at = {}, 3
  while at <= #ARGV do
    local id, number = ARGV[at], tonumber(string.match(ARGV[at + 1] or '', '^%d+$'))
    if not string.match(id, '^[^/~]+/[^/]+$') then error('not an id') end
    if not number or at + 1 + SIZE * number > #ARGV then error('wrong number of arguments') end
    for i = at + 2, at + 1 + SIZE * number, SIZE do
      if not string.match(ARGV[i], '^[sca]$') or not string.match(ARGV[i + 1], '^[^/]+/.') then error('not a job') end
      if owner_of(topic_of(ARGV[i + 1])) ~= topic_of(id) then error('another owner') end
      if not string.match(ARGV[i + 2], '^@?%d+$') then error('not a number') end
      if ARGV[i + 5] ~= '' and not Events.is_hook(ARGV[i + 5]) then error('not a webhook') end
      if not Workflows.is_step(ARGV[i + 6]) then error('not a step') end
    end
    calls[#calls + 1] = at
    at = at + 2 + SIZE * number
  end
  probe()
  local max_jobs = tonumber(ARGV[2])
  room = max_jobs > 0 and max_jobs - Expiries.jobs_below(max_jobs) or math.huge
  local replies = {now_us}
  for i = 1, #calls do replies[#replies + 1] = append(calls[i]) end
  Places.finish()
  return replies
end)
