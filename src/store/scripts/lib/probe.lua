-- probe.lua - refuses a slot that is on the move, before the first write.
-- uses: keys

-- Every script that writes begins with this, for a slot of a Cluster that is on the move. There a script may
-- still use the keys that have not moved, and fails at the first one that is not there: perhaps between two
-- of its writes, and also at a key that its own last write emptied. So it asks for one that never is: on a
-- slot on the move that fails for sure, and here nothing has been written yet.
local function probe() call('EXISTS', base .. 'never') end
