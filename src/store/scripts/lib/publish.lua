-- publish.lua - messages to all processes of this shard.
-- uses: keys

-- A message that cannot be published is lost; its listeners check at their next tick. It must not fail a script that
-- has already written: the caller would assume that nothing has changed.
local function publish(text) redis.pcall('PUBLISH', base .. 'wake', text) end
