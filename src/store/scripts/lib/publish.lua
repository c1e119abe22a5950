-- publish.lua - sends messages to all processes that use this shard.
-- uses: keys

-- A message that cannot be published is lost; the listeners find the change at their next tick. pcall ignores the
-- error. If the error stopped a script that has already written, the caller would assume that nothing has changed.
local function publish(text) redis.pcall('PUBLISH', base .. 'wake', text) end
