-- follow.lua - jobs that are scheduled when another job's lease ends, in the same call and with the same
-- fence. These jobs are at the end of ARGV: number of the item, id, when, record, ..., then '+' and the
-- number of these jobs.
-- uses: clock has places topic when workflows

-- The jobs to schedule, by the number of their item: id, when, record, id, when, record ... as in
-- schedule.lua.
local follow_ups = {}

local function has_follow_ups() return string.byte(ARGV[#ARGV]) == 43 end

-- Removes the follow-ups from ARGV. Call it before other code reads ARGV. A follow-up must be in the same shard as its
-- item, so both topics must have the same owner.
-- rare: follow
local function take_follow_ups(first, size)
  local start = #ARGV - 4 * tonumber(ARGV[#ARGV])
  for i = start, #ARGV - 1, 4 do
    local number, id, when, record = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
    local at = first + (number - 1) * size
    if at < first or at + size > start then error('no such item') end
    if not string.match(id, '^[^/]+/.') then error('not an id') end
    if owner_of(topic_of(id)) ~= owner_of(topic_of(ARGV[at])) then error('another owner') end
    if not string.match(when, '^@?%d+$') then error('not a number') end
    local list = follow_ups[number] or {}
    follow_ups[number] = list
    for _, word in ipairs({id, when, record}) do list[#list + 1] = word end
  end
  for i = #ARGV, start, -1 do ARGV[i] = nil end
end

-- Schedules the follow-ups of an item that has ended its lease. Follow-ups are scheduled even if the pool is full,
-- because they report an event. A follow-up whose id already belongs to a job is skipped. parent is the id of the item.
-- rare: follow
local function follow(list, parent)
  for i = 1, #list, 3 do
    local at, created = due_of(list[i + 1])
    if call('HSETNX', JOBS, list[i], opening_of(created) .. list[i + 2]) == 1 then
      put(list[i], at)
      if has(WORKFLOW_JOBS) then adopt(list[i], parent) end
    end
  end
end
