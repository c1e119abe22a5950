-- hour.lua - counts for each topic how the attempts of the last hour ended. The overview of topics shows these numbers.
--
-- An hour is divided into parts of five minutes, which are numbered since 1970. Each part has a hash: <letter><topic>
-- -> number of outcomes. The letter is d (delivered), r (failed, and will be retried) or x (dead). All topics share
-- this hash, because a key for each topic would cost more than all other writes when a job ends.
-- uses: clock waiting

local PART_MS, PARTS = 300000, 12
local part = math.floor(now / PART_MS)
local function hour_of(number) return base .. 'hour:' .. number end

-- Returns two lists: the stored parts that belong to the last hour, and all other stored parts. The field 'hours' of
-- NUMBERS lists the parts that are stored.
local function parts_by_age()
  local recent, old = {}, {}
  for number in string.gmatch(call('HGET', NUMBERS, 'hours') or '', '%d+') do
    local list = tonumber(number) > part - PARTS and tonumber(number) <= part and recent or old
    list[#list + 1] = number
  end
  return recent, old
end

-- Adds the current part to the list of stored parts. Old parts are deleted in the background, because they may be
-- large.
-- rare: hour
local function list_part()
  local recent, old = parts_by_age()
  for i = 1, #recent do
    if tonumber(recent[i]) == part then return end
  end
  recent[#recent + 1] = part
  call('HSET', NUMBERS, 'hours', table.concat(recent, ','))
  for i = 1, #old do call('UNLINK', hour_of(old[i])) end
end

local counts = {}
local function count(topic, letter, number)
  local field = letter .. topic
  counts[field] = (counts[field] or 0) + number
end

-- Writes the counts. Called at the end of each script that counts.
local function write_counts()
  local fields, numbers, is_new = {}, {}, false
  for field in pairs(counts) do fields[#fields + 1] = field end
  if not fields[1] then return end
  local known = call('HMGET', hour_of(part), unpack(fields))
  for i = 1, #fields do
    is_new = is_new or not known[i]
    numbers[2 * i - 1] = fields[i]
    numbers[2 * i] = (tonumber(known[i]) or 0) + counts[fields[i]]
  end
  call('HSET', hour_of(part), unpack(numbers))
  if is_new then list_part() end
end

-- Returns the outcomes of the last hour: topic -> {d = number, r = number, x = number}.
local function last_hours(topics)
  local letters, fields, sums = {'d', 'r', 'x'}, {}, {}
  for i = 1, #topics do
    sums[topics[i]] = {d = 0, r = 0, x = 0}
    for k = 1, #letters do fields[#fields + 1] = letters[k] .. topics[i] end
  end
  for _, number in ipairs(#topics > 0 and parts_by_age() or {}) do
    for i, found in ipairs(call('HMGET', hour_of(number), unpack(fields))) do
      local its = sums[topics[math.ceil(i / #letters)]]
      local letter = letters[(i - 1) % #letters + 1]
      its[letter] = its[letter] + (tonumber(found) or 0)
    end
  end
  return sums
end
