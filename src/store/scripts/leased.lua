-- leased.lua - returns ids of leased jobs, in no order. One call is a step of a walk through all leases. A job that
-- stays leased during the whole walk is returned once, or perhaps twice.
--
-- ARGV[2] topic, or empty for all topics   [3] only ids after this id; may be empty
-- ARGV[4] start of the step: 0, or the value that the previous step returned. A value that begins with 'p' is a
--      position in the leases of workers   [5] approximate maximum number of leases to examine
-- ARGV[6] only jobs of this topic and its siblings; may be empty
-- Returns {now_us, start of the next step or '0' at the end, id ...}.

local topic, owner
local STEP = 500
local function is_asked_for(id)
  if topic ~= '' then return topic_of(id) == topic end
  return owner == '' or owner_of(topic_of(id)) == owner
end

script('leased', {'no-writes'}, {Lists}, function()
  topic = ARGV[2]
  local behind = ARGV[3]
  local at = ARGV[4]
  local look = tonumber(ARGV[5])
  owner = ARGV[6] or ''
  local replies = {now_us, at}
  local is_pulled = string.byte(at) == 112
  if is_pulled then at = string.sub(at, 2) end
  repeat
    local step = call('ZSCAN', (is_pulled and WORKERS or CONSUMERS).leases, at, 'COUNT', STEP)
    at, look = step[1], look - STEP
    for i = 1, #step[2], 2 do
      local id = step[2][i]
      if is_asked_for(id) and (behind == '' or Lists.precedes(behind, id)) then replies[#replies + 1] = id end
    end
  until at == '0' or look <= 0
  if is_pulled and at ~= '0' then
    at = 'p' .. at
  elseif not is_pulled and at == '0' and has(WORKERS.leases) then
    at = 'p0'
  end
  replies[2] = at
  return replies
end)
