#!lua flags=no-writes
-- workflow.lua - reads one workflow.
--
-- ARGV[2] id: owner/workflowId   [3] when it was made, ms, or '' for the last one with this id   [4] 1: with its elements
-- Returns {now_us, {name, value ... of its hash}, number of its jobs that have not ended, number of elements, elements with their
-- kinds in front}, or {now_us} if there is no such workflow.
-- uses: clock workflows
local place = ARGV[3] == '' and place_of_workflow(ARGV[2]) or ARGV[2] .. '/' .. ARGV[3]
local fields = place and call('HGETALL', workflow_of(place)) or {}
if #fields == 0 then return {now_us} end
local elements = ARGV[4] == '1' and call('LRANGE', elements_of(place), '0', '-1') or {}
return {now_us, fields, call('HLEN', open_of(place)), call('LLEN', elements_of(place)), elements}
