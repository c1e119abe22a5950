#!lua flags=no-writes
-- rights.lua - tests which commands the Redis user of duepost may run, without changing data. The script is declared as
-- one that does not write. So Redis refuses its writing commands, but first checks whether the user has the right to
-- run them.
--
-- ARGV[1] commands, separated by blanks
-- Returns, as a flat list, each command that failed for lack of rights, and its error.
-- uses: keys

local function error_of(command)
  local arguments = {base .. 'never', '0', '0', '0', '0'}
  if command == 'PUBLISH' then arguments = {base .. 'wake', 'rights'} end
  if command == 'COPY' then arguments = {base .. 'never', base .. 'never'} end
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
