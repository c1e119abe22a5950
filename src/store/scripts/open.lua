-- open.lua - reads or sets the layout of the data in Redis: the number of its format, and the number of shards.
--
-- ARGV[2] the caller's format   [3] the caller's number of shards   [4] 1: if the data has no layout, it gets the
--      caller's; if its format is older, it gets the caller's format, and the janitor then moves the data to the keys
--      that the new format uses
-- ARGV[5] bytes of the history's backlog, 0: the caller has no history   [6] bodies, as in archive.lua. If [4] is 1,
--      this call turns the history on, so that jobs that end before the first call of archive.lua are in the outbox,
--      too
-- ARGV[7] a random text, which becomes the secret of the tokens of attempts (lease_text.h) unless the data has one
-- Returns {now_us, format, shards, born_ms, 1 if a manual clock decides when jobs are due, the secret or ''} of the data. All are 0 if
--      Redis has no data of duepost yet. born_ms is the time when this data was created, so it changes after a FLUSHALL.
--      New data gets a manual clock if the caller has one; the clock begins with the time of
--      Redis, in whole ms, so that a job with a delay of an hour is due after a move of exactly an hour

script('open', {'allow-oom'}, {}, function()
  probe_slot()
  if ARGV[4] == '1' then
    if clock.is_manual and call('HEXISTS', META, 'format') == 0 then
      now_us = now * 1000
      call('HSET', META, 'clock_us', integer(now_us))
    end
    raise_format(tonumber(ARGV[2]))
    call('HSETNX', META, 'shards', ARGV[3])
    call('HSETNX', META, 'born', integer(now))
    if (ARGV[7] or '') ~= '' then call('HSETNX', META, 'secret', ARGV[7]) end
  end
  if ARGV[4] == '1' and (ARGV[5] or '0') ~= '0' and call('EXISTS', HISTORY) == 0 then
    call('HSET', HISTORY, 'backlog', ARGV[5], 'bodies', ARGV[6])
  end
  local meta = call('HMGET', META, 'format', 'shards', 'born', 'clock_us', 'secret')
  return {now_us, tonumber(meta[1] or 0), tonumber(meta[2] or 0), tonumber(meta[3] or 0), meta[4] and 1 or 0, meta[5] or ''}
end)
