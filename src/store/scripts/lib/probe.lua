-- probe.lua - stops a script before its first write if its slot is being migrated.
-- uses: has

-- Every script that writes begins with this check. While a slot of a Cluster is being migrated, a script can use the
-- keys that have not moved yet. The script fails at the first key that does not exist on this node. This failure could
-- come between two writes, for example at a key that the script itself has just deleted. So the probe reads a key that
-- never exists. If the slot is being migrated, this read fails, before the script has written anything.
local function probe_slot() call('EXISTS', base .. 'never') end

-- Probes the slot for a script that uses most of the rarely used keys (has.lua). One query checks the slot
-- and all these keys: if none of them exists, has() does not query each of them. The key names are written here
-- as texts, so that a script declares only the names that it needs.
local function probe()
  local number = call('EXISTS', base .. 'never', base .. 'topics', base .. 'patterns', base .. 'crashes', base .. 'attempts',
    base .. 'behind', base .. 'held', base .. 'lingering', base .. 'lines', base .. 'kept', base .. 'pulled', base .. 'pull_lingering',
    base .. 'pull_waiters', base .. 'workflow_jobs', base .. 'ended_last')
  has_rare_keys = number > 0
end
