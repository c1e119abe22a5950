-- patterns.lua - patterns, such as orders-*, with settings for all topics whose names match.
--
-- If a topic does not have a setting itself, the setting of the longest pattern that matches the topic's name applies.
-- The text of a pattern already contains the settings of shorter patterns (see topic_patterns.h), so scripts read one
-- pattern only. Here, patterns do not match sibling topics, such as orders~callbacks.
-- uses: has

-- pattern_sizes: the different lengths of the patterns without their '*', the longest length first.
local is_pattern, pattern_sizes
local function read_patterns()
  local names, has_size = call('HKEYS', PATTERNS), {}
  is_pattern, pattern_sizes = {}, {}
  for i = 1, #names do
    local size = #names[i] - 1
    is_pattern[names[i]] = true
    if not has_size[size] then pattern_sizes[#pattern_sizes + 1] = size end
    has_size[size] = true
  end
  table.sort(pattern_sizes, function(a, b) return a > b end)
end

-- Returns the longest pattern that matches the topic, or nothing.
local function pattern_of(topic)
  if not is_pattern then read_patterns() end
  if string.find(topic, '~', 1, true) then return end
  for i = 1, #pattern_sizes do
    local name = string.sub(topic, 1, pattern_sizes[i]) .. '*'
    if is_pattern[name] then return name end
  end
end
