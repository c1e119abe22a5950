-- turns_page.lua - walks through the topics of the set turns, in bounded steps.
-- uses: offer

-- Returns topics with a higher score than the given one, up to the score last: at most most topics, and in addition
-- all topics with the same score as the last of these. If there may be more topics, also returns this score.
local function turns_page(score, last, most)
  local entries, topics, is_known = call('ZRANGEBYSCORE', TURNS, '(' .. score, last, 'WITHSCORES', 'LIMIT', 0, most), {}, {}
  for i = 1, #entries, 2 do
    topics[#topics + 1] = entries[i]
    is_known[entries[i]] = true
  end
  if #topics < most then return topics end
  local end_score = entries[#entries]
  for _, topic in ipairs(call('ZRANGEBYSCORE', TURNS, end_score, end_score)) do
    if not is_known[topic] then topics[#topics + 1] = topic end
  end
  return topics, end_score
end
