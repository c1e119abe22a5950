-- format.lua - raises the format of the data, so that versions that do not know the data refuse it.
-- uses: keys

local FORMAT_PULL = 4 -- see STORE_FORMAT_PULL in store.h
local function raise_format(format)
  if format > (tonumber(call('HGET', META, 'format')) or 0) then call('HSET', META, 'format', format) end
end
