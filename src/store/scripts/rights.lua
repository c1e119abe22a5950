#!lua flags=no-writes
-- rights.lua - tries out, without effect, what this user may run: a script without writes is refused a command that
-- writes, but only after its rights were looked at.
--
-- ARGV[1] commands, with a blank between two of them
-- Returns a command and the error that it got, for each that got one for a lack of rights; flat.
-- uses: keys

local function error_of(command)
  local arguments = {base .. 'never', '0', '0', '0', '0'}
  if command == 'PUBLISH' then arguments = {base .. 'wake', 'rights'} end
  for arity = 0, #arguments do
    local answer = redis.pcall(command, unpack(arguments, 1, arity))
    local text = type(answer) == 'table' and answer.err or ''
    if not string.find(string.lower(text), 'wrong number of arg', 1, true) then return text end
  end
  return ''
end

local denied = {}
for command in string.gmatch(ARGV[1], '%S+') do
  local text = error_of(command)
  if string.find(text, 'NOPERM', 1, true) or string.find(text, 'The user executing', 1, true) -- Redis 7.0
    or string.find(text, 'ACL failure', 1, true) then -- Redis 8
    denied[#denied + 1] = command
    denied[#denied + 1] = text
  end
end
return denied
