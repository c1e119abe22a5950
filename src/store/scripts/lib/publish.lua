-- publish.lua - messages to all processes of this shard.
-- uses: keys

-- A message that cannot be published is lost, and its listeners have their ticks. It must not fail a script that
-- has written already: the caller would be told that nothing happened.
local function publish(text) redis.pcall('PUBLISH', base .. 'wake', text) end
