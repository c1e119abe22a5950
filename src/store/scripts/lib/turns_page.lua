-- turns_page.lua - walks through the topics of the set turns, in bounded steps.
-- uses: offer

-- Returns topics with scores above the given one, up to the score last. Returns up to most topics, and all further
-- topics with the score of the last one. If there may be more topics, also returns this score.
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
