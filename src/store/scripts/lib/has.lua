-- has.lua - names of rarely used keys, and whether these keys exist.
-- uses: keys

local TOPICS = base .. 'topics' -- topic -> settings
local PATTERNS = base .. 'patterns' -- pattern -> settings, see patterns.lua
local CRASHES = base .. 'crashes' -- id -> how often its consumer was lost, and the last nonce
local ATTEMPTS = base .. 'attempts' -- id -> lines, see attempt_line.h
local BEHIND = base .. 'behind' -- see behind.lua
local HELD = base .. 'held' -- see held.lua
local LINGERING = base .. 'lingering' -- see lingering.lua
local LINES = base .. 'lines' -- topic -> see line.lua
local PULLED = base .. 'pulled' -- id -> deadline, see pull.lua
local PULL_LINGERING = base .. 'pull_lingering' -- see lingering.lua
local PULL_WAITERS = base .. 'pull_waiters' -- see pull_waiters.lua
local WORKFLOW_JOBS = base .. 'workflow_jobs' -- id -> see workflows.lua
local KEPT = base .. 'kept' -- id -> see ended.lua
local HISTORY = base .. 'history' -- HASH: backlog, bodies; absent if no history is on, see outbox.lua

-- Returns whether a rarely used key exists. A call of a script queries Redis at most once for each key. If the script
-- creates such a key, it sets is_there for this key. has_rare_keys is false if probe has found that none of these keys
-- exists.
local is_there, has_rare_keys = {}, true
local function has(key)
  local there = is_there[key]
  if there ~= nil then return there end
  there = has_rare_keys and call('EXISTS', key) == 1
  is_there[key] = there
  return there
end

-- Returns whether a history is on. probe does not check this key, because it is not rare.
local function has_history()
  if is_there[HISTORY] == nil then is_there[HISTORY] = call('EXISTS', HISTORY) == 1 end
  return is_there[HISTORY]
end
