-- weights.lua - shares the capacity of consumers between topics with the setting weight. Each topic has a score in
-- the sorted set "turns", its virtual time. The topic with the lowest score is served next, see offer.lua.
-- uses: offer

-- Returns how many jobs of the i-th topic a claim may lease in a row: at least share, and more as long as the topic's
-- virtual time stays below that of all other topics. scores: virtual times of the topics. turns: the turns that this
-- claim has already planned.
-- rare: weights
local function share_before_next(i, weight, scores, turns, share)
  local following = scores[i + 1] or math.huge
  for j = 1, i - 1 do
    local turn = turns[j]
    if #turn.ids > 0 then following = math.min(following, turn.score + #turn.ids * A_JOB / turn.weight) end
  end
  return math.max(share, math.floor((following - scores[i]) * weight / A_JOB) + 1)
end

-- Subtracts the number first from all virtual times, but lowers none below 1. This happens once in years, before the
-- times become too large to be exact.
-- rare: weights
local function renumber_turns(first)
  if call('ZCARD', TURNS) > 1000 then return end
  local all = call('ZRANGE', TURNS, '0', '-1', 'WITHSCORES')
  for i = 1, #all, 2 do all[i], all[i + 1] = math.max(1, all[i + 1] - first), all[i] end
  call('ZADD', TURNS, unpack(all))
end
