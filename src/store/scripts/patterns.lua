-- patterns.lua - reads the settings of all patterns, or only their version.
--
-- ARGV[2] 1: only the version
-- Returns {now_us, version, then for each pattern: pattern, text}. The version is 0 before the first change.

script('patterns', {'no-writes'}, {}, function()
  local replies = {now_us, tonumber(call('HGET', META, 'patterns')) or 0}
  local entries = ARGV[2] == '1' and {} or call('HGETALL', PATTERNS)
  for i = 1, #entries do replies[#replies + 1] = entries[i] end
  return replies
end)
