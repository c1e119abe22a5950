-- has.lua - names of keys that many installations never have, and a check whether they exist.
-- uses: keys

local TOPICS = base .. 'topics' -- topic -> settings
local PATTERNS = base .. 'patterns' -- pattern -> settings, see patterns.lua
local CRASHES = base .. 'crashes' -- id -> how often its consumer was lost, and the last nonce
local ATTEMPTS = base .. 'attempts' -- id -> one line for each of its last attempts, see attempt_line.h
local BEHIND = base .. 'behind' -- see behind.lua
local HELD = base .. 'held' -- see held.lua
local RESUMED = base .. 'resumed' -- topic -> when its jobs were last resumed, see resumed.lua
local LINGERING = base .. 'lingering' -- see lingering.lua
local LINES = base .. 'lines' -- fifo topic -> when its first job may be attempted again, see line.lua
local PULLED = base .. 'pulled' -- id -> deadline of the worker's lease, see pull.lua
local PULL_LINGERING = base .. 'pull_lingering' -- see lingering.lua
local PULL_WAITERS = base .. 'pull_waiters' -- see pull_waiters.lua
local SUSPECTS = base .. 'suspects' -- see suspects.lua
local WORKFLOW_JOBS = base .. 'workflow_jobs' -- id of a job -> its workflow and role, see workflows.lua
local EXPIRIES = base .. 'expiries' -- id -> when the job expires, see expiries.lua
local KEPT = base .. 'kept' -- id of a job that has ended -> its data, see ended.lua
local HISTORY = base .. 'history' -- HASH with the fields backlog and bodies, see outbox.lua; it exists while a history is on

-- Returns whether one of these keys exists. A call of a script queries Redis at most once for each key. A script that
-- creates such a key sets is_there[key]. has_rare_keys is false if probe() has found that none of the keys exists.
local is_there, has_rare_keys = {}, true
local function has(key)
  local there = is_there[key]
  if there ~= nil then return there end
  there = has_rare_keys and call('EXISTS', key) == 1
  is_there[key] = there
  return there
end

-- Returns whether a history is on. probe() does not check the key HISTORY, because servers with a history always have
-- it.
local function has_history()
  if is_there[HISTORY] == nil then is_there[HISTORY] = call('EXISTS', HISTORY) == 1 end
  return is_there[HISTORY]
end
