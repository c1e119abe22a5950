-- resume.lua - resumes jobs that are held because the circuit breaker of a receiver is open: each gets back the due
-- time that it had before the hold.
--
-- ARGV[2]  receiver, as in report.lua   [3] maximum number of ids to examine
-- Returns {now_us, number of ids that were examined}.

script('resume', {'allow-oom'}, {Holds, Places}, function()
  local receiver, most = ARGV[2], tonumber(ARGV[3])
  if #ARGV ~= 3 or not most or most < 1 then error('wrong arguments') end
  probe()
  local entries, topics, ids_of = call('ZPOPMIN', Holds.breaker_key(receiver), most), {}, {}
  for i = 1, #entries, 2 do
    local id = entries[i]
    local topic = topic_of(id)
    if not ids_of[topic] then
      ids_of[topic] = {}
      topics[#topics + 1] = topic
    end
    table.insert(ids_of[topic], id)
  end
  for _, topic in ipairs(topics) do
    if Places.resume(topic, ids_of[topic]) then Holds.note_resumed(topic) end
  end
  Places.finish()
  return {now_us, #entries / 2}
end)
