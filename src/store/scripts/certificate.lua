-- certificate.lua - notes until when the certificates of receivers are valid, as connections with TLS have shown.
--
-- ARGV from 2: name of a receiver, host:port; until when its certificate is valid, ms; ...
-- Returns {now_us}.

script('certificate', {'allow-oom'}, {Certificates}, function()
  if #ARGV % 2 ~= 1 then error('wrong number of arguments') end
  for i = 2, #ARGV, 2 do
    if not string.match(ARGV[i], '^[^/]+:%d+$') then error('not a receiver') end
    if not string.match(ARGV[i + 1], '^%d+$') then error('not a number') end
  end
  probe()
  for i = 2, #ARGV, 2 do Certificates.note(ARGV[i], ARGV[i + 1]) end
  Certificates.trim()
  return {now_us}
end)
