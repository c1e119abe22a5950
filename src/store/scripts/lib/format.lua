-- format.lua - raises the number of the data format that Redis stores. Versions of duepost that do not support this
-- format then refuse to work with the data.
-- uses: keys

local FORMAT_PULL = 4 -- see STORE_FORMAT_PULL in store.h
local function raise_format(format)
  if format > (tonumber(call('HGET', META, 'format')) or 0) then call('HSET', META, 'format', format) end
end
