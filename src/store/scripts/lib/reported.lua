-- reported.lua - keys of the records of receivers, which report.lua writes.
-- uses: keys

local RECEIVERS = base .. 'receivers' -- name -> record, and version -> version of the last record
local REPORTED = base .. 'reported' -- name -> version of its record
local REPORTED_KEPT_MS = 3600000 -- a record is removed when it has not changed for this time
