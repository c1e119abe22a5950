#!lua flags=allow-oom
-- abandon.lua - gives back the jobs of a claim whose reply never came. The jobs are due again at their old
-- times, before their leases end. If Redis runs the claim after this script, recover.lua finds the leases.
--
-- ARGV[2] nonce of the claim   [3] maximum number of leases to examine; recover.lua finds the others, too
-- Returns {now_us, number of jobs}.
-- uses: again lingering probe take
local nonce, most = ARGV[2], tonumber(ARGV[3])
local ids = call('ZRANGE', LEASES, 0, most - 1)
local number = 0
probe()
for i = 1, #ids do
  local claim = call('HGET', holders_of(topic_of(ids[i])), ids[i])
  if claim and string.match(claim, '^%S+') == nonce then
    take(ids[i])
    again(ids[i], string.match(claim, '%S+$'), false)
    number = number + 1
  end
end
-- Of those that were cancelled since, no attempt runs.
local lingering = has(LINGERING) and call('ZRANGE', LINGERING, 0, most - 1) or {}
for i = 1, #lingering do
  if string.match(lingering[i], '[^\n]+$') == nonce then
    free_place(lingering[i])
    touch(topic_of(lingering[i]))
  end
end
finish()
return {now_us, number}
