-- format.lua - raises the format number of the data, so that versions of duepost that do not support this format refuse
-- the data.
-- uses: keys

local FORMAT_PULL = 4 -- see STORE_FORMAT_PULL in store.h
local function raise_format(format)
  if format > (tonumber(call('HGET', META, 'format')) or 0) then call('HSET', META, 'format', format) end
end
