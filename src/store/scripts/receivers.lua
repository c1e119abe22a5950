#!lua flags=no-writes
-- receivers.lua - what is known of receivers: of one, or a page of all, the one that was reported last at the end.
--
-- ARGV[2] a receiver, or empty for a page   [3] the version to go on behind   [4] the most receivers
-- Returns {now_us, version of the last one there is, version of the last one looked at, then for each: name, record}.
-- The records are report.lua's; what that would forget is not told.
-- uses: clock
local KEPT_MS = 3600000
local RECEIVERS, REPORTED = base .. 'receivers', base .. 'reported'
local one, after, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
local replies = {now_us, tonumber(call('HGET', RECEIVERS, 'version')) or 0, tonumber(after)}

local function tell(name)
  local record = call('HGET', RECEIVERS, name)
  local at = record and tonumber(string.match(record, '%d+$'))
  if not at or at <= now - KEPT_MS then return end
  replies[#replies + 1] = name
  replies[#replies + 1] = record
end

if one ~= '' then
  tell(one)
else
  local page = call('ZRANGEBYSCORE', REPORTED, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #page, 2 do tell(page[i]) end
  replies[3] = #page < 2 * most and replies[2] or tonumber(page[#page])
end
return replies
