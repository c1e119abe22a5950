-- rights.lua - tests which commands the Redis user of duepost may run, without changing data. The script is declared as
-- one that does not write. So Redis refuses its writing commands, but first checks whether the user has the right to
-- run them.
--
-- ARGV[1] commands, separated by blanks
-- Returns, as a flat list, each command and the error with which it failed, or ''. The caller finds the errors that mean
-- that a right is missing.

local function error_of(command)
  local arguments = {base .. 'never', '0', '0', '0', '0'}
  if command == 'PUBLISH' then arguments = {base .. 'wake', 'rights'} end
  if command == 'COPY' or command == 'RENAME' then arguments = {base .. 'never', base .. 'never'} end
  for arity = 0, #arguments do
    local answer = redis.pcall(command, unpack(arguments, 1, arity))
    local text = type(answer) == 'table' and answer.err or ''
    if not string.find(string.lower(text), 'wrong number of arg', 1, true) then return text end
  end
  return ''
end

-- Not registered as the other scripts are, because these read the time first, and the user may lack the right to do so.
register('rights', {'no-writes'}, function(keys, arguments)
  begin_keys(keys, arguments)
  local errors = {}
  for command in string.gmatch(ARGV[1], '%S+') do
    errors[#errors + 1] = command
    errors[#errors + 1] = error_of(command)
  end
  return errors
end)
