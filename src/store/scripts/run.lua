#!lua flags=allow-oom
-- run.lua - a job becomes due now, or when it is told. A dead one starts over: its record is swapped for one without attempts,
-- unless it has changed since the caller read it.
--
-- ARGV from 2: id, when (as in schedule.lua), the record that was read, the record to write, ...
-- Returns {now_us, result ...}: the due time, -1 no such job, -2 leased, -3 dead and changed.
-- uses: check crashes locate take when
check(2, 4, 2)
local replies = {now_us}

-- Of the records in the pool, which may be long, only one as long as the caller's is read: no more than the call brought.
local function has_changed(id, size, record) return size ~= #record or call('HGET', JOBS, id) ~= record end

for i = 2, #ARGV, 4 do
  local id = ARGV[i]
  local size = call('HSTRLEN', JOBS, id)
  local state, score = locate(id)
  local result
  if size == 0 then
    result = -1
  elseif state == 'leased' then
    result = -2
  elseif state == 'dead' and has_changed(id, size, ARGV[i + 2]) then
    result = -3
  elseif state == 'ready' then
    result = tonumber(score)
    forget_crashes(id)
  else
    take(id)
    forget_crashes(id)
    if state == 'dead' then call('HSET', JOBS, id, ARGV[i + 3]) end
    local at, text = due_of(ARGV[i + 1])
    put(id, text)
    result = at
  end
  replies[#replies + 1] = result
end
finish()
return replies
