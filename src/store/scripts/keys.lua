-- keys.lua - reads one key of a topic (lib/lanes.lua), or a page of them, those with the most jobs first.
--
-- ARGV[2] topic   [3] the key, if only one is wanted   [4] 1: one key, 0: a page   [5] the last key of the page before, with
--      its number of jobs and a space before it, or ''   [6] maximum number of keys
-- Returns {now_us, 1 if there are more keys, attempts of the topic in flight, then for each key: key, its own settings as text
-- or '', number of jobs, attempts in flight, due time of its first waiting job, ms, or -1; and if this job is due and held,
-- until when, ms, or 'inf', and 'paused', 'maxInFlight', 'order' or 'rate', else '' and ''}.

-- Returns the rank of the first key of a page.
local function first_rank(key, after)
  local number, last = string.match(after, '^(%d+) (.*)$')
  if not number then return 0 end
  local rank = call('ZREVRANK', key, last)
  if rank and tonumber(call('ZSCORE', key, last)) == tonumber(number) then return rank + 1 end
  return call('ZCOUNT', key, '(' .. number, '+inf')
end

script('keys', {'no-writes'}, {Lanes}, function()
  local topic, most = ARGV[2], tonumber(ARGV[6])
  local replies, keys = {now_us, 0, call('HLEN', holders_of(topic))}, {ARGV[3]}
  if ARGV[4] ~= '1' then
    local first = first_rank(Lanes.pending_key(topic), ARGV[5])
    keys = call('ZRANGE', Lanes.pending_key(topic), first, first + most, 'REV')
    if #keys > most then
      replies[2], keys[#keys] = 1, nil
    end
  end
  for i = 1, #keys do
    local pending, in_flight, head, until_ms, hold = Lanes.read(topic, keys[i])
    local own = has(KEY_SETTINGS) and call('HGET', KEY_SETTINGS, Lanes.name(topic, keys[i])) or ''
    local due = head and integer(ms_of(head)) or -1
    for _, part in ipairs({keys[i], own, pending, in_flight, due, until_ms or '', hold or ''}) do replies[#replies + 1] = part end
  end
  return replies
end)
