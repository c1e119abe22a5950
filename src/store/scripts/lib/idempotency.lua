-- idempotency.lua - keys of the answers that are kept for idempotency keys.
-- uses: keys

local IDEMPOTENCY, WINDOWS = base .. 'idempotency', base .. 'windows' -- key -> its answer; key -> expiry, ms
