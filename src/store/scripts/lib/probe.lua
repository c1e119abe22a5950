-- probe.lua - stops a script before its first write if Redis Cluster is just moving its keys (a slot) to another node, or
-- if the data has a newer format than this version supports.
-- uses: format has

-- Every script that writes begins with probe(), or with probe_slot() and refuse_newer_format(). Scripts that end the
-- attempts of their caller, or renew their leases, do not check the format: they use probe_slot() or probe_keys().
--
-- While a slot is being moved, a script can use the keys that are still on this node. The script fails at the first key
-- that does not exist on this node. So it could fail between two writes, for example at a key that the script itself
-- has just deleted. The check therefore reads a key that never exists: if the slot is being moved, this read fails,
-- before the script has written anything.
local function probe_slot() call('EXISTS', base .. 'never') end

-- The same check for scripts that use many of the keys in has.lua, most of which often do not exist. This one query
-- also checks all these keys. If none of them exists, has() need not query each of them. The names of the keys are
-- written here as texts, so that a script declares only the names that it needs.
local RARE = {base .. 'never', base .. 'topics', base .. 'patterns', base .. 'crashes', base .. 'attempts',
  base .. 'behind', base .. 'held', base .. 'resumed', base .. 'lingering', base .. 'lines', base .. 'kept', base .. 'pulled', base .. 'pull_lingering',
  base .. 'pull_waiters', base .. 'suspects', base .. 'workflow_jobs', base .. 'ended_last', base .. 'expiries'}
local function probe_keys() has_rare_keys = call('EXISTS', unpack(RARE)) > 0 end
local function probe()
  probe_keys()
  refuse_newer_format()
end
