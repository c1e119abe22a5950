-- expire.lua - lists waiting jobs that have expired (lib/expiries.lua). The caller then buries each of them with a
-- nonce that names its record, see bury.lua. An attempt in flight is not ended: the entry of a leased job gets the time
-- at which the lease ends. The entry of a listed job gets a later time; if the caller dies before it buries the job, a
-- later call lists it again.
--
-- ARGV[2] maximum number of jobs   [3] time that Redis's clock should show by the caller's reckoning, ms
-- Returns the same as recover.lua, with the current time as the time of the lease.

local AGAIN_MS, READ_AT_ONCE, BYTES_MAX = 5000, 16, 1048576
local replies, topics, is_told, dropped, moved

local function move(id, at)
  moved[#moved + 1] = integer(at)
  moved[#moved + 1] = id
end

local function list(id, record, score)
  local topic, at = topic_of(id), #replies
  replies[at + 1], replies[at + 2], replies[at + 3] = id, Expiries.nonce(record), math.floor(tonumber(score))
  replies[at + 4], replies[at + 5] = now, record
  replies[3] = replies[3] + 1
  if not is_told[topic] then topics[#topics + 1] = topic end
  is_told[topic] = true
end

local function look_at(id, record)
  local expires = record and Records.expiry(record) or math.huge
  if expires == math.huge then
    dropped[#dropped + 1] = id
    return
  end
  if expires > now then return move(id, expires) end
  local deadline = Leases.deadline(id)
  if deadline then return move(id, math.max(tonumber(deadline), now + 1)) end
  local score = call('ZSCORE', bucket_of(topic_of(id)), id)
  if score then list(id, record, score) end
  move(id, now + AGAIN_MS)
end

script('expire', {'allow-oom'}, {Expiries, Leases, Records}, function()
  if math.abs(now - tonumber(ARGV[3])) > Leases.STEP_MS then return {now_us, -1} end
  probe()
  local ids = call('ZRANGEBYSCORE', EXPIRIES, '-inf', now, 'LIMIT', 0, ARGV[2])
  replies, topics, is_told, dropped, moved = {now_us, 0, 0}, {}, {}, {}, {}
  Records.bytes_left = BYTES_MAX
  for from = 1, #ids, READ_AT_ONCE do
    if Records.has_read_enough() then break end
    local to = math.min(from + READ_AT_ONCE - 1, #ids)
    local records = call('HMGET', JOBS, unpack(ids, from, to))
    for i = from, to do
      local record = records[i - from + 1]
      Records.bytes_left = Records.bytes_left - (record and #record or 0)
      look_at(ids[i], record)
    end
    replies[2] = to
  end
  if #dropped > 0 then call('ZREM', EXPIRIES, unpack(dropped)) end
  if #moved > 0 then call('ZADD', EXPIRIES, unpack(moved)) end
  add_settings(replies, topics)
  return replies
end)
