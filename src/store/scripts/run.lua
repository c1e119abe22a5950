#!lua flags=allow-oom
-- run.lua - a job becomes due now, or when it is told. A dead one starts over: its record is swapped for one without attempts,
-- unless it has changed since the caller read it.
--
-- ARGV from 2: id, when (as in schedule.lua), what has to be there (see is_as_seen), the record that was read, the
-- record to write, ...
-- Returns {now_us, result ...}: the due time, -1 no such job, -2 this call has read enough: ask again, -3 leased, -4 not
-- as seen, -5 dead and changed.
-- uses: check crashes locate tag take when
check(2, 5, 2)
local replies = {now_us}

-- Of the records in the pool, which may be long, only one as long as the caller's is read: no more than the call brought.
local function has_changed(id, size, record) return size ~= #record or call('HGET', JOBS, id) ~= record end

local function run(id, due, tags, seen, fresh)
  local size = call('HSTRLEN', JOBS, id)
  if size == 0 then return -1 end
  local is_seen = is_as_seen(id, tags)
  if is_seen == nil then return -2 end
  local state, score = locate(id)
  if state == 'leased' then return -3 end
  if not is_seen then return -4 end
  if state == 'dead' and has_changed(id, size, seen) then return -5 end
  if state == 'ready' then
    forget_crashes(id)
    return tonumber(score)
  end
  take(id)
  forget_crashes(id)
  if state == 'dead' then call('HSET', JOBS, id, fresh) end
  local at, text = due_of(due)
  put(id, text)
  return at
end

for i = 2, #ARGV, 5 do replies[#replies + 1] = run(unpack(ARGV, i, i + 4)) end
finish()
return replies
