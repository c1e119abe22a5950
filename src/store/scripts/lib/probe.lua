-- probe.lua - refuses a slot that is on the move, before the first write.
-- uses: has

-- Every script that writes begins with this, for a slot of a Cluster that is on the move. There a script may
-- still use the keys that have not moved, and fails at the first one that is not there: perhaps between two
-- of its writes, and also at a key that its own last write emptied. So it asks for one that never is: on a
-- slot on the move that fails for sure, and here nothing has been written yet.
local function probe_slot() call('EXISTS', base .. 'never') end

-- The same for a script that looks at most of the rarely used keys: where none exists, has does not ask for each.
local function probe()
  has_rare_keys = call('EXISTS', base .. 'never', TOPICS, PATTERNS, CRASHES, ATTEMPTS, BEHIND, HELD, LINGERING, KEPT) > 0
  if has_rare_keys then return end
  is_there = {
    [TOPICS] = false, [PATTERNS] = false, [CRASHES] = false, [ATTEMPTS] = false,
    [BEHIND] = false, [HELD] = false, [LINGERING] = false, [KEPT] = false,
  }
end
