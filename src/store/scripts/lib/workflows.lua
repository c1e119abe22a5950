-- workflows.lua - workflows: lists of elements that grow, and the jobs that belong to them.
--
-- The place of a workflow is '<owner>/<workflowId>/<time of its creation, ms>', because a later workflow may have the
-- same id. The workflow's hash has state ('active', 'succeeded', 'failed', 'cancelled'), createdAt, endedAt, settings
-- (a text of the caller), result, first (its first job), previous (when the previous workflow with this id was created,
-- ms), failedBy (the job that failed it), bytes (of its elements), parent (a place), and the elements that its parent
-- gets if it fails or is cancelled: ifFailed, ifCancelled.
--
-- A job of a workflow has a role:
--   s  step: it is delivered with the elements up to its own; if it dies, the workflow fails
--   c  call: it is delivered as it is; only reads of all elements return its element
--   a  answer: it is delivered as it is and has no element; if it dies, the workflow fails
--   w  wait: a step whose element is appended when it is due, see waits.lua
-- WORKFLOW_JOBS has for each job of a workflow, until the job ends, 'role position bytes place': position is
-- the number of elements up to the job's own, and bytes their size.
-- uses: clock has keys places when

local WORKFLOWS = base .. 'workflows' -- owner/workflowId -> when the last workflow with this id was created, ms
local WORKFLOW_TIMES = base .. 'workflow_times' -- place -> when the workflow was created, ms
local function workflow_of(place) return base .. 'workflow:' .. place end
local function elements_of(place) return base .. 'elements:' .. place end -- LIST: 's' or 'c', and the element
local function element_jobs_of(place) return base .. 'element_jobs:' .. place end -- LIST: of each element 'kind time bytes job'
local function open_of(place) return base .. 'open:' .. place end -- HASH: its jobs that have not ended
local OPEN_MAX, ELEMENTS_MAX = 1000, 10000

-- Returns the place of the last workflow with this id, or nothing.
local function place_of_workflow(id)
  local created = call('HGET', WORKFLOWS, id)
  if created then return id .. '/' .. created end
end

local function is_active(place) return call('HGET', workflow_of(place), 'state') == 'active' end

-- Returns the place of the active workflow with this id, or nothing.
local function active_place(id)
  local place = place_of_workflow(id)
  if place and is_active(place) then return place end
end

-- Returns role, position, bytes and place of a job, or nothing if the job belongs to no workflow.
local function membership_of(id)
  local text = has(WORKFLOW_JOBS) and call('HGET', WORKFLOW_JOBS, id)
  if text then return string.match(text, '^(%a) (%d+) (%d+) (.*)$') end
end

local function note_membership(id, role, position, bytes, place)
  call('HSET', WORKFLOW_JOBS, id, table.concat({role, position, bytes, place}, ' '))
  is_there[WORKFLOW_JOBS] = true
end

-- Appends the element of a job. Returns the number and the total size of all elements.
local function add_element(place, kind, element, id)
  call('RPUSH', element_jobs_of(place), table.concat({kind, integer(now), #element, id}, ' '))
  return call('RPUSH', elements_of(place), kind .. element), call('HINCRBY', workflow_of(place), 'bytes', #element + 1)
end

-- Schedules a job of a workflow, and appends its element. Returns its due time, ms.
local function add_member(place, role, id, when, record, element)
  local position, bytes = 0, 0
  if role == 's' or role == 'c' then position, bytes = add_element(place, role, element, id) end
  local at, created = due_of(when)
  call('HSET', JOBS, id, opening_of(created) .. record)
  note_membership(id, role, position, bytes, place)
  call('HSET', open_of(place), id, '')
  return put(id, at)
end

-- Adds a follow-up of a job to the workflow of that job, with the role of an answer. Only calls have such follow-ups.
-- rare: workflow
local function adopt(id, parent)
  local role, _, _, place = membership_of(parent)
  if role ~= 'c' then return end
  note_membership(id, 'a', 0, 0, place)
  call('HSET', open_of(place), id, '')
end
