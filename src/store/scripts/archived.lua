-- archived.lua - removes texts from the outbox after they were written to the history.
--
-- The texts must be the first ones in the list of fields that were read. If they are not, because another archiver
-- has removed texts or the list was repaired, this script changes nothing, and the caller reads the outbox again.
--
-- ARGV[2] number of fields that must have been removed before this call: the number of removed fields that archive.lua
--      returned with these texts, plus ARGV[6] of that call of archive.lua
-- ARGV[3] number of disturbances that archive.lua returned with these texts; if it has changed, nothing is removed
-- ARGV[4] number of fields   [5] bytes of the texts   [6] the first field   [7] the last field
-- ARGV from 8: positions of the fields that had no text when they were read. Texts that were added to these fields
--      since then were not read, so they stay
-- Returns {now_us, number of texts removed; or DISTURBED}.

script('archived', {'allow-oom'}, {Outbox}, function()
  probe_slot()
  refuse_newer_format()
  local number, bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
  local numbers = call('HMGET', NUMBERS, 'outbox_removed', 'outbox_moved')
  if (numbers[1] or '0') ~= ARGV[2] or (numbers[2] or '0') ~= ARGV[3] then return {now_us, RESULT.DISTURBED} end
  local fields = call('LRANGE', ENDED_READ, 0, number - 1)
  if #fields ~= number or fields[1] ~= ARGV[6] or fields[number] ~= ARGV[7] then return {now_us, RESULT.DISTURBED} end
  call('LTRIM', ENDED_READ, number, -1)
  call('HINCRBY', NUMBERS, 'outbox_removed', number)
  for i = #ARGV, 8, -1 do table.remove(fields, tonumber(ARGV[i])) end
  local removed = #fields > 0 and Outbox.remove(fields) or 0
  call('HINCRBY', NUMBERS, 'outbox_bytes', -bytes)
  -- When the outbox is empty, the stored sum of bytes is reset.
  if call('EXISTS', ENDED) == 0 then call('HDEL', NUMBERS, 'outbox_bytes') end
  return {now_us, removed}
end)
