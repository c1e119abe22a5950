-- format.lua - the number of the data format, which grows when earlier versions of duepost cannot use the data any more.
-- A process does not start with data of a newer format than it supports. A process that is running when the format
-- grows starts nothing new: its scripts that write fail, except those that end its own attempts.
-- uses: keys

local FORMAT_PULL = 4 -- see STORE_FORMAT_PULL in store.h
local FORMAT_MAX = 4 -- see STORE_FORMAT_MAX in store.h
local function raise_format(format)
  if format > (tonumber(call('HGET', META, 'format')) or 0) then call('HSET', META, 'format', format) end
end

-- Ends the script with an error if a later version of duepost has raised the format.
local function refuse_newer_format()
  local format = call('HGET', META, 'format')
  if format and tonumber(format) > FORMAT_MAX then
    error({err = 'NEWER format ' .. format .. ' of the data, this duepost supports ' .. FORMAT_MAX})
  end
end
