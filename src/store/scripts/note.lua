-- note.lua - adds lines of the audit log to the trail, a list from which the archiver moves them to the history
-- (trail.lua). If the trail is larger than its limit, because no archiver has read it for a long time, the oldest lines
-- are dropped and counted.
--
-- ARGV from 2: lines
-- Returns {now_us, 1 ...}.

local TRAIL_BYTES, DROP_AT_ONCE = 16777216, 16

script('note', {'allow-oom'}, {}, function()
  probe_slot()
  refuse_newer_format()
  local trail, bytes, replies = base .. 'trail', 0, {now_us}
  for i = 2, #ARGV do
    bytes = bytes + #ARGV[i]
    replies[i] = 1
  end
  call('RPUSH', trail, unpack(ARGV, 2))
  local excess = call('HINCRBY', NUMBERS, 'trail_bytes', bytes) - TRAIL_BYTES
  while excess > 0 do
    local lines = call('LPOP', trail, DROP_AT_ONCE)
    if not lines then break end
    local freed = 0
    for i = 1, #lines do freed = freed + #lines[i] end
    excess = excess - freed
    call('HINCRBY', NUMBERS, 'trail_bytes', -freed)
    call('HINCRBY', NUMBERS, 'trail_removed', #lines)
    call('HINCRBY', NUMBERS, 'trail_dropped', #lines)
  end
  return replies
end)
