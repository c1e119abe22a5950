-- has.lua - whether a rarely used key exists.
-- uses: keys

-- Whether there is anything in a key that most pools do not have, asked once a call.
local is_there = {}
local function has(key)
  if is_there[key] == nil then is_there[key] = call('EXISTS', key) == 1 end
  return is_there[key]
end
