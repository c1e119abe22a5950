-- receivers.lua - reads the record of one receiver, or a page of the records of all receivers, in the order of their
-- versions (report.lua): the record that was changed last comes last.
--
-- ARGV[2] a receiver, or empty for a page   [3] the version after which the page begins   [4] maximum number
--      of receivers
-- Returns {now_us, version of the last record that exists, version of the last record examined, then for
-- each: name, record, until when its certificate is valid, ms, or -1}. report.lua describes records. Records that the next call of report.lua may remove are left
-- out.

local names, records

local function tell(name)
  local record = call('HGET', RECEIVERS, name)
  local at = record and tonumber(string.match(record, '%d+$'))
  if not at or at <= now - REPORTED_KEPT_MS then return end
  names[#names + 1], records[#records + 1] = name, record
end

script('receivers', {'no-writes'}, {Certificates}, function()
  local one, after, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
  names, records = {}, {}
  local replies = {now_us, tonumber(call('HGET', RECEIVERS, 'version')) or 0, tonumber(after)}
  if one ~= '' then
    tell(one)
  else
    local page = call('ZRANGEBYSCORE', REPORTED, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
    for i = 1, #page, 2 do tell(page[i]) end
    replies[3] = #page < 2 * most and replies[2] or tonumber(page[#page])
  end
  local ends = Certificates.of(names)
  for i = 1, #names do
    for _, word in ipairs({names[i], records[i], ends[i]}) do replies[#replies + 1] = word end
  end
  return replies
end)
