-- hour.lua - what became of a topic's jobs within the last hour.
-- uses: clock

-- What became of a topic's jobs of late, for people: field '<part><letter>', where parts of an hour are counted since
-- 1970 and the letter is d (delivered), r (failed and to be retried) or x (dead).
local PART_MS, PARTS = 300000, 12
local part = math.floor(now / PART_MS)
local function hour_of(topic) return base .. 'hour:' .. topic end
local function is_of_last_hour(field)
  local its_part = tonumber(string.match(field, '^%d+'))
  return its_part > part - PARTS and its_part <= part
end

local counts = {}
local function count(topic, letter, number)
  counts[topic] = counts[topic] or {}
  counts[topic][letter] = (counts[topic][letter] or 0) + number
end

-- Old parts are removed when a new part begins.
local function write_counts_of(topic, numbers)
  local key, is_new = hour_of(topic), false
  for letter, number in pairs(numbers) do
    is_new = call('HINCRBY', key, part .. letter, number) == number or is_new
  end
  if not is_new or call('PEXPIRE', key, PARTS * PART_MS, 'NX') == 1 then return end
  for _, field in ipairs(call('HKEYS', key)) do
    if not is_of_last_hour(field) then call('HDEL', key, field) end
  end
  call('PEXPIRE', key, PARTS * PART_MS)
end

-- The end of every script that counts.
local function write_counts()
  for topic, numbers in pairs(counts) do write_counts_of(topic, numbers) end
end
