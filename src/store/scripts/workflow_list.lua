-- workflow_list.lua - reads a page of workflows, the latest first.
--
-- ARGV[2] owner, or '' for all   [3] a prefix of the workflowIds, or ''   [4] state, or ''   [5] place after which the page begins, or ''
-- ARGV[6] maximum number of workflows   [7] maximum number of workflows that the call examines
-- Returns {now_us, place of the last one examined, or '' if there are no more, then for each workflow: its place, {state,
-- createdAt, endedAt, first, failedBy, result, settings}, number of its jobs that have not ended, number of its elements}. Texts of
-- more than 8 KiB are left out.

local owner, prefix, state, behind
local FIELDS, TEXT_MAX = {'state', 'createdAt', 'endedAt', 'first', 'failedBy', 'result', 'settings'}, 8192

-- Returns the rank at which the page begins. If the last workflow of the previous page has been removed, its time of
-- creation gives the rank.
local function first_rank()
  if behind == '' then return 0 end
  local rank = call('ZREVRANK', WORKFLOW_TIMES, behind)
  return rank and rank + 1 or call('ZCOUNT', WORKFLOW_TIMES, string.match(behind, '%d+$'), '+inf')
end

local function matches(place)
  local topic, id = string.match(place, '^([^/]*)/(.*)/%d+$')
  if owner ~= '' and topic ~= owner or string.sub(id, 1, #prefix) ~= prefix then return false end
  return state == '' or call('HGET', Workflows.key(place), 'state') == state
end

local function fields_of(place)
  local fields = call('HMGET', Workflows.key(place), unpack(FIELDS))
  for i = 1, #FIELDS do
    if not fields[i] or #fields[i] > TEXT_MAX then fields[i] = '' end
  end
  return fields
end

script('workflow_list', {'no-writes'}, {Workflows}, function()
  owner = ARGV[2]
  prefix = ARGV[3]
  state = ARGV[4]
  behind = ARGV[5]
  local most = tonumber(ARGV[6])
  local looks = tonumber(ARGV[7])
  local reply, rank, looked, found = {now_us, ''}, first_rank(), 0, 0
  while looked < looks and found < most do
    local places = call('ZREVRANGE', WORKFLOW_TIMES, rank + looked, rank + looked + math.min(99, looks - looked - 1))
    if #places == 0 then
      reply[2] = ''
      break
    end
    for i = 1, #places do
      looked = looked + 1
      reply[2] = places[i]
      if matches(places[i]) then
        found = found + 1
        for _, value in ipairs({places[i], fields_of(places[i]), call('HLEN', Workflows.open_key(places[i])), call('LLEN', Workflows.elements_key(places[i]))}) do
          reply[#reply + 1] = value
        end
      end
      if found == most then break end
    end
  end
  if reply[2] ~= '' and rank + looked >= call('ZCARD', WORKFLOW_TIMES) then reply[2] = '' end
  return reply
end)
