-- follow_ups.lua - new jobs, such as callbacks, that are scheduled when the attempt of another job ends. The script
-- that ends the attempt schedules the follow-ups, and only if it accepts the caller's nonce (fence.lua). Follow-ups are
-- at the end of ARGV. Each has four arguments: the item that it belongs to (1: the first item of the call), and id,
-- when and record as in schedule.lua. The last argument of the call is '+' and the number of follow-ups.

local FollowUps = {uses = {Expiries, Places, Records, Workflows}}

-- position of an item in the call -> its follow-ups: id, when, record, id, when, record ...
FollowUps.by_item = {}

function FollowUps.are_there() return string.byte(ARGV[#ARGV]) == 43 end

-- Moves the follow-ups from ARGV to FollowUps.by_item. Must run before other code reads ARGV. A follow-up must be in
-- the same shard as the job of its item, so their topics must have the same owner topic (base.lua).
function FollowUps.take(first, size)
  local start = #ARGV - 4 * tonumber(ARGV[#ARGV])
  for i = start, #ARGV - 1, 4 do
    local number, id, when, record = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
    local at = first + (number - 1) * size
    if at < first or at + size > start then error('no such item') end
    if not string.match(id, '^[^/]+/.') then error('not an id') end
    if owner_of(topic_of(id)) ~= owner_of(topic_of(ARGV[at])) then error('another owner') end
    if not string.match(when, '^@?%d+$') then error('not a number') end
    local list = FollowUps.by_item[number] or {}
    FollowUps.by_item[number] = list
    for _, word in ipairs({id, when, record}) do list[#list + 1] = word end
  end
  for i = #ARGV, start, -1 do ARGV[i] = nil end
end

-- Schedules the follow-ups of an item that has ended its lease, even if the maximum number of jobs is reached,
-- because follow-ups report an event that has happened. A follow-up is skipped if a job with its id exists. parent:
-- id of the job whose lease has ended.
function FollowUps.schedule(list, parent)
  for i = 1, #list, 3 do
    local at, created = Records.due_of(list[i + 1])
    local record, expires = Records.complete(created, list[i + 2])
    if call('HSETNX', JOBS, list[i], record) == 1 then
      Expiries.note(list[i], expires)
      Places.put(list[i], at)
      if has(WORKFLOW_JOBS) then Workflows.adopt(list[i], parent) end
    end
  end
end

function FollowUps.begin()
  if next(FollowUps.by_item) then FollowUps.by_item = {} end
end

return FollowUps
