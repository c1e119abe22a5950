-- script.lua - registers the scripts as functions of the library.

local function register(name, flags, callback)
  register_function{function_name = 'duepost_' .. name .. '_@DIGEST@', flags = flags, callback = callback}
end

-- Appends the function begin of a file, which sets the file's variables for a new call, after those of the files that
-- it uses itself.
local function add_begins(begins, has_file, file)
  if has_file[file] then return end
  has_file[file] = true
  for i = 1, #file.uses do add_begins(begins, has_file, file.uses[i]) end
  begins[#begins + 1] = file.begin
end

-- Registers a script. files: the files of lib/ that it uses. run: runs in each call, and returns the result of the
-- script. So that a call pays only for what it may use, it begins only these files. No value of one call is left in the
-- next one, even if a call ends with an error.
local function script(name, flags, files, run)
  local begins, has_file = {}, {}
  for i = 1, #files do add_begins(begins, has_file, files[i]) end
  register(name, flags, function(keys, arguments)
    begin_keys(keys, arguments)
    begin_base()
    begin_settings()
    begin_check()
    for i = 1, #begins do begins[i]() end
    local result = run()
    KEYS, ARGV = nil, nil
    return result
  end)
end
