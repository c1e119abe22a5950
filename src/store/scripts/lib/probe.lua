-- probe.lua - stops a script before its first write if its slot is being migrated.
-- uses: has

-- Every script that writes begins with this check, because a slot of a Cluster may be in migration. A script
-- may then still use the keys that have not moved, but fails at the first key that does not exist on this
-- node. The failure could come between two writes, or at a key that the script itself has just emptied. So
-- the probe reads a key that never exists. In a slot in migration, this read always fails, and the script has
-- not written yet.
local function probe_slot() call('EXISTS', base .. 'never') end

-- Probes the slot for a script that uses most of the rarely used keys (has.lua). One query checks the slot
-- and all these keys: if none of them exists, has does not query each of them. The key names are written here
-- as texts, so that a script declares only the names that it needs.
local function probe()
  local number = call('EXISTS', base .. 'never', base .. 'topics', base .. 'patterns', base .. 'crashes', base .. 'attempts',
    base .. 'behind', base .. 'held', base .. 'lingering', base .. 'lines', base .. 'kept', base .. 'pulled', base .. 'pull_lingering',
    base .. 'pull_waiters', base .. 'workflow_jobs', base .. 'ended_last')
  has_rare_keys = number > 0
end
