-- workflows.lua - durable workflows. A workflow is a list of elements (results of its steps) that grows, and the jobs
-- that deliver this list to the workflow's endpoint.
--
-- A workflow is named by its place, '<owner>/<workflowId>/<time of its creation, ms>', because a later workflow may
-- have the same owner and workflowId. The hash workflow:<place> has the fields state ('active', 'succeeded', 'failed',
-- 'cancelled'), createdAt, endedAt, settings (a text of the caller), result, first (its first job), previous (when the
-- previous workflow with this id was created, ms), failedBy (the dead job that made it fail), bytes (size of its
-- elements), parent (place of the workflow that has started this one), parentStep (name of the parent's step that waits
-- for this one), and ifFailed and ifCancelled, the elements that the parent gets if this workflow fails or is
-- cancelled.
--
-- A job of a workflow has a role:
--   s step    it is delivered with all elements up to its own; if it dies, the workflow fails
--   c call    a request to another url, delivered with its own body; its element is not delivered with steps
--   a answer  reports the result of a call, is delivered with its own body, and has no element; if it dies, the workflow
--             fails
--   w wait    a step whose element is appended when it is due, see events.lua
-- WORKFLOW_JOBS has for each job of a workflow, until the job ends, 'role position bytes place'. position is the number
-- of elements up to and including the job's own, bytes is their size, and place is the workflow's.

local Workflows = {uses = {Expiries, Places, Records}}

function Workflows.key(place) return base .. 'workflow:' .. place end

-- LIST: 's' or 'c', and the element
function Workflows.elements_key(place) return base .. 'elements:' .. place end

-- LIST: 'kind time bytes job' for each element
function Workflows.element_jobs_key(place) return base .. 'element_jobs:' .. place end

-- HASH: id of a job that has not ended -> when its delivery has done its work, see Workflows.is_done; '' if that cannot
-- be known
function Workflows.open_key(place) return base .. 'open:' .. place end

-- HASH, while the workflow is active: name of a step -> '<number of the step that follows> <its first job>'; '' -> the
-- highest number of a step. A client that did not get an answer appends a step again, so a step is named: '<number>' is
-- a result, or a wait or an invoked workflow from which the result will come, '<number>c' a call, '<number>p' the plan
-- of a parallel step.
function Workflows.steps_key(place) return base .. 'steps:' .. place end

Workflows.OPEN_MAX, Workflows.ELEMENTS_MAX = 1000, 10000

-- Returns the place of the latest workflow with this id (owner/workflowId), or nothing.
function Workflows.place(id)
  local created = call('HGET', WORKFLOWS, id)
  if created then return id .. '/' .. created end
end

function Workflows.is_active(place) return call('HGET', Workflows.key(place), 'state') == 'active' end

-- Returns the place of the active workflow with this id, or nothing.
function Workflows.active_place(id)
  local place = Workflows.place(id)
  if place and Workflows.is_active(place) then return place end
end

-- Returns the entry of a job in WORKFLOW_JOBS: role, position, bytes and place. Returns nothing if the job belongs to
-- no workflow.
function Workflows.membership(id)
  local text = has(WORKFLOW_JOBS) and call('HGET', WORKFLOW_JOBS, id)
  if text then return string.match(text, '^(%a) (%d+) (%d+) (.*)$') end
end

function Workflows.note_membership(id, role, position, bytes, place)
  call('HSET', WORKFLOW_JOBS, id, table.concat({role, position, bytes, place}, ' '))
  is_there[WORKFLOW_JOBS] = true
end

-- Appends the element of a job to its workflow. Returns the number and the total size of the workflow's elements.
function Workflows.add_element(place, kind, element, id)
  call('RPUSH', Workflows.element_jobs_key(place), table.concat({kind, integer(now), #element, id}, ' '))
  return call('RPUSH', Workflows.elements_key(place), kind .. element), call('HINCRBY', Workflows.key(place), 'bytes', #element + 1)
end

function Workflows.is_step(step) return step == '' or string.match(step, '^%d+[cp]?$') and #step <= 12 end

-- Returns the first job of a step that the workflow has, or nothing.
function Workflows.job_of_step(place, step)
  local entry = step ~= '' and call('HGET', Workflows.steps_key(place), step)
  if entry then return string.match(entry, ' (.*)$') end
end

-- Returns the number of the step that follows a step, as a text, or '' if the workflow does not have the step.
function Workflows.after_step(place, step)
  local entry = step ~= '' and call('HGET', Workflows.steps_key(place), step)
  return entry and string.match(entry, '^%d+') or ''
end

-- Notes a step that is appended. last: the highest number of the steps that are planned together with it, if there are
-- several. Returns the value for Workflows.open_key.
function Workflows.note_step(place, step, id, last)
  local number, kind = string.match(step, '^(%d+)([cp]?)$')
  if not number then return '' end
  local steps = Workflows.steps_key(place)
  local after = kind == 'p' and integer((last or tonumber(number)) + 1) or Workflows.after_step(place, number .. 'p')
  if after == '' then after = integer(tonumber(number) + 1) end
  call('HSET', steps, step, after .. ' ' .. id)
  if tonumber(number) > tonumber(call('HGET', steps, '') or 0) then call('HSET', steps, '', number) end
  return kind == 'c' and '' or kind == 'p' and '=' .. number or after
end

-- Returns whether the delivery of a step has done its work, so that another delivery would only repeat an effect whose
-- result is kept: the result of the planned step ('=<number>'), or a step with at least this number ('<number>').
function Workflows.is_done(place, id)
  local mark = call('HGET', Workflows.open_key(place), id)
  if not mark or mark == '' then return false end
  local planned = string.match(mark, '^=(%d+)$')
  if planned then return call('HEXISTS', Workflows.steps_key(place), planned) == 1 or call('HEXISTS', Workflows.steps_key(place), planned .. 'c') == 1 end
  return tonumber(call('HGET', Workflows.steps_key(place), '') or 0) >= tonumber(mark)
end

-- Schedules a job of a workflow. If its role is step or call, also appends its element. mark: see Workflows.open_key.
-- Returns its due time, ms.
function Workflows.add_member(place, role, id, when, record, element, mark)
  local position, bytes = 0, 0
  if role == 's' or role == 'c' then position, bytes = Workflows.add_element(place, role, element, id) end
  local at, created = Records.due_of(when)
  local text, expires = Records.complete(created, record)
  call('HSET', JOBS, id, text)
  Expiries.note(id, expires)
  Workflows.note_membership(id, role, position, bytes, place)
  call('HSET', Workflows.open_key(place), id, mark or '')
  return Places.put_new(id, at)
end

-- Called for a follow-up (follow_ups.lua) of the job parent, which has ended. If the parent was a call of a workflow,
-- the follow-up becomes a job of this workflow, with the role answer.
function Workflows.adopt(id, parent)
  local role, _, _, place = Workflows.membership(parent)
  if role ~= 'c' then return end
  Workflows.note_membership(id, 'a', 0, 0, place)
  call('HSET', Workflows.open_key(place), id, '')
end

return Workflows
