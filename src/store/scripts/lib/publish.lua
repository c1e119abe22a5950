-- publish.lua - sends messages to all processes that use this shard.
-- uses: keys

-- If a message cannot be published, it is lost, and the listeners find the change at their next tick. The
-- error must not stop a script that has already written, because the caller would then assume that nothing
-- has changed.
local function publish(text) redis.pcall('PUBLISH', base .. 'wake', text) end
