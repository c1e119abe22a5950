-- workflow.lua - reads one workflow.
--
-- ARGV[2] id: owner/workflowId   [3] time of its creation, ms, or '' for the latest one with this id   [4] 1: with its jobs
-- ARGV[5] maximum size of all elements, bytes; if they are larger, only the first element is read; below 0: none is read
-- Returns {now_us} if there is no such workflow; otherwise {now_us, fields, number of open jobs, number of elements,
-- elements, element jobs, open jobs}. Open jobs are jobs that have not ended. fields: name, value, ... of the
-- workflow's hash. Each element begins with its kind. element jobs: 'kind time bytes job' of each element. open jobs:
-- job, 'role position bytes place', text of the job's wait or '', ...

script('workflow', {'no-writes'}, {Events, Workflows}, function()
  local place = ARGV[3] == '' and Workflows.place(ARGV[2]) or ARGV[2] .. '/' .. ARGV[3]
  local fields = place and call('HGETALL', Workflows.key(place)) or {}
  if #fields == 0 then return {now_us} end
  local count = call('LLEN', Workflows.elements_key(place))
  local bytes = tonumber(call('HGET', Workflows.key(place), 'bytes') or 0)
  local most, elements = tonumber(ARGV[5]), {}
  if most >= 0 then elements = call('LRANGE', Workflows.elements_key(place), '0', bytes <= most and '-1' or '0') end
  if ARGV[4] ~= '1' then return {now_us, fields, call('HLEN', Workflows.open_key(place)), count, elements, {}, {}} end
  local jobs, open = {}, call('HKEYS', Workflows.open_key(place))
  for i = 1, #open do
    local _, text = Events.wait(open[i])
    jobs[3 * i - 2], jobs[3 * i - 1], jobs[3 * i] = open[i], call('HGET', WORKFLOW_JOBS, open[i]) or '', text or ''
  end
  return {now_us, fields, #open, count, elements, call('LRANGE', Workflows.element_jobs_key(place), '0', '-1'), jobs}
end)
