-- limit_set.lua - writes or deletes a limit that topics share (lib/limits.lua), unless it has changed since the caller
-- read it. A limit that topics or patterns name is not deleted.
--
-- ARGV[2] name   [3] the text that was read, or ''   [4] the text to write, or '' to delete the limit
-- Returns {now_us, 1} if this is done; {now_us, 0} if the limit has changed; or {now_us, 2, names of some of the topics
-- and patterns that name the limit ...}.

local USERS_TOLD = 10

script('limit_set', {'allow-oom'}, {Limits, Places}, function()
  local name, old, new = ARGV[2], ARGV[3], ARGV[4]
  probe()
  if (call('HGET', LIMITS, name) or '') ~= old then return {now_us, 0} end
  if new == '' then
    local users = call('ZRANGE', Limits.users_key(name), '0', USERS_TOLD - 1)
    if #users > 0 then return {now_us, 2, unpack(users)} end
    call('HDEL', LIMITS, name)
    call('DEL', Limits.waiting_key(name))
    Limits.forget_rate(name)
    return {now_us, 1}
  end
  raise_format(FORMAT.LIMITS)
  call('HSET', LIMITS, name, new)
  note_settings_key(LIMITS, true)
  if not read_settings(new).rate then Limits.forget_rate(name) end
  Limits.touched[name] = true
  Places.finish()
  return {now_us, 1}
end)
