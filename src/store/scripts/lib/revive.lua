-- revive.lua - brings a dead job back into the pool.
-- uses: attempts ended

-- Puts a dead job back into the pool, with its own record or the given one. The caller then gives the job a
-- place.
-- rare: ended
local function bring_back(id, record)
  local _, _, _, old, lines = kept_job(id)
  call('HSET', JOBS, id, record or old)
  if lines ~= '' then
    call('HSET', ATTEMPTS, id, lines)
    is_there[ATTEMPTS] = true
  end
  drop_kept(id)
end
