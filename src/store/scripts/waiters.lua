#!lua flags=no-writes
-- waiters.lua - returns the jobs of workflows that wait for an event, in the order in which they began to wait.
--
-- ARGV[2] owner   [3] event   [4] owner/workflowId for the jobs of one workflow only, or ''   [5] maximum number
-- Returns {now_us, id of the job that waits, text of the caller, ...}.
-- uses: clock waits workflows
local scope = ARGV[2]
if ARGV[4] ~= '' then scope = active_place(ARGV[4]) end
local replies = {now_us}
local jobs = scope and call('ZRANGE', waiters_of(scope, ARGV[3]), '0', tonumber(ARGV[5]) - 1) or {}
for i = 1, #jobs do
  local _, text = wait_of(jobs[i])
  if text then
    replies[#replies + 1] = jobs[i]
    replies[#replies + 1] = text
  end
end
return replies
