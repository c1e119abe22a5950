-- publish.lua - sends messages to all duepost processes.
-- uses: keys

-- pcall ignores an error, for example of an ACL that denies PUBLISH. The message is then lost, and the other processes
-- find the change at their next tick. If the error ended a script that has already written, the caller would assume
-- that nothing has changed.
local function publish(text) redis.pcall('PUBLISH', base .. 'wake', text) end
