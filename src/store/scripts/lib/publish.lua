-- publish.lua - sends messages to all processes that use this shard.
-- uses: keys

-- If a message cannot be published, it is lost, and the listeners find the change at their next tick. pcall ignores
-- the error: if it stopped a script that has already written, the caller would assume that nothing has changed.
local function publish(text) redis.pcall('PUBLISH', base .. 'wake', text) end
