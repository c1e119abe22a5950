-- pulled.lua - reads jobs that workers have leased. Called before such leases are ended, if the records are needed.
--
-- ARGV from 2: id, nonce, ...
-- Returns {now_us, result ...}. A result is {due time, time of the lease, record, settings of its topic or ''}, {} if the nonce does
-- not hold the lease, or AGAIN.

script('pulled', {'no-writes'}, {Leases, Records}, function()
  local replies = {now_us}
  for i = 2, #ARGV, 2 do
    local id, nonce = ARGV[i], ARGV[i + 1]
    local claim = call('HGET', holders_of(topic_of(id)), id)
    local holder_nonce, due, began = Leases.read_claim(claim or '')
    if holder_nonce ~= nonce or not began or call('HEXISTS', JOBS, id) == 0 then
      replies[#replies + 1] = {}
    else
      local record = Records.read(id)
      replies[#replies + 1] = record and {tonumber(due) or now, tonumber(began), record, serving_text_of(topic_of(id))} or RESULT.AGAIN
    end
  end
  return replies
end)
