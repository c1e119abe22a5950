-- waiters.lua - reads a page of the jobs of workflows that wait for an event, in the order in which they began to wait.
--
-- ARGV[2] owner   [3] event   [4] owner/workflowId for the jobs of one workflow only, or ''   [5] maximum number of jobs
--   [6] 'when:id', the job after which the page begins, or ''
-- Returns {now_us, 'when:id' of the last job of the page, or '' if there are no more, then id of the job that waits, text of the
-- caller, ...}. The text is '' if the wait cannot be read. The page ends early when its texts have TEXTS_MAX bytes.

local TEXTS_MAX = 4194304
local behind

-- Returns the rank at which the page begins. The last job of the previous page may have stopped waiting.
local function first_rank(key)
  if behind == '' then return 0 end
  local at, id = string.match(behind, '^([^:]+):(.+)$')
  return Lists.rank_of(key, at, id, true)
end

script('waiters', {'no-writes'}, {Events, Lists, Workflows}, function()
  local scope = ARGV[2]
  local event = ARGV[3]
  behind = ARGV[6]
  if ARGV[4] ~= '' then scope = Workflows.active_place(ARGV[4]) end
  if not scope then return {now_us, ''} end
  local key = Events.waiters_key(scope, event)
  local rank = first_rank(key)
  local jobs = call('ZRANGE', key, rank, rank + tonumber(ARGV[5]) - 1, 'WITHSCORES')
  local reply, bytes = {now_us, ''}, 0
  for i = 1, #jobs, 2 do
    local _, text = Events.wait(jobs[i])
    reply[#reply + 1] = jobs[i]
    reply[#reply + 1] = text or ''
    reply[2] = table.concat({jobs[i + 1], ':', jobs[i]})
    rank, bytes = rank + 1, bytes + #(text or '')
    if bytes >= TEXTS_MAX then break end
  end
  if rank >= call('ZCARD', key) then reply[2] = '' end
  return reply
end)
