-- suspects.lua - suspects: jobs that have lost Suspects.LOSSES consumers since their last outcome. One of them may be
-- the job that ends the consumers. So of all suspects of the shard, at most one is attempted at a time, together with
-- any number of other jobs. Then only the job at fault loses further consumers, and only this job dies.
--
-- A claim that meets a suspect while another one is attempted sets it aside: it holds the job (holds.lua) for
-- Suspects.WAIT_MS, and notes it in the sorted set SUSPECTS: id -> when it was set aside, ms. When the attempt has
-- ended, Places.finish() (places.lua) offers the suspect that has waited longest. If the entry of a waiting job is
-- lost, the job is claimed at the end of its hold.
--
-- One entry of SUSPECTS has a score of 0 or less. It is 'id\nnonce' -> 0 for the suspect that is attempted, or 'id\n'
-- -> -ms for the suspect that was offered last, and when. The entry of an attempt stays when the attempt ends, so
-- holders:<topic> decides whether the attempt still runs.

local Suspects = {uses = {}}

Suspects.LOSSES = 2
Suspects.WAIT_MS = 600000
-- If no consumer claims an offered suspect in this time, because its topic is paused or all consumers are busy, the
-- next one is offered, too.
Suspects.OFFERED_MS = 1000

-- Returns the first entry of SUSPECTS and its score, or nothing if it names a suspect that waits.
function Suspects.first()
  local first = call('ZRANGE', SUSPECTS, '0', '0', 'WITHSCORES')
  local score = tonumber(first[2])
  if score and score <= 0 then return first[1], score end
end

-- Returns whether the attempt that this entry names still runs. The attempt of a cancelled job may run on, see
-- lingering.lua.
function Suspects.is_attempted(place)
  local id, nonce = string.match(place, '^(.*)\n(.*)$')
  if not id or nonce == '' then return false end
  local holders = call('HMGET', holders_of(topic_of(id)), id, place)
  return holders[2] ~= false or holders[1] and string.sub(holders[1], 1, #nonce + 1) == nonce .. ' '
end

-- Notes that a claim has leased this suspect.
function Suspects.note_attempted(id, nonce)
  call('ZREMRANGEBYSCORE', SUSPECTS, '-inf', '0')
  call('ZREM', SUSPECTS, id)
  call('ZADD', SUSPECTS, '0', id .. '\n' .. nonce)
end

return Suspects
