#!lua flags=no-writes
-- audit.lua - counts. Each job's id is in exactly one place, so the sum must come out.
--
-- Returns {now_us, jobs, waiting, leased, dead, topics}. jobs = waiting + leased + dead when all is well.
local topics = call('ZRANGE', DUE, 0, -1)
local ready = call('ZRANGE', TURNS, 0, -1)
for i = 1, #ready do topics[#topics + 1] = ready[i] end
local waiting = 0
for i = 1, #topics do waiting = waiting + call('ZCARD', bucket_of(topics[i])) end
return {now_us, call('HLEN', JOBS), waiting, call('ZCARD', LEASES), call('ZCARD', DEAD), #topics}
