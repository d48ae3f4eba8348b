-- A request for the lock, as acquire and release carry it in ARGV:
-- id, mode, owner ('': its own id), lease, whether it waits (1 or 0), ask-again period, patience, grant timeout; times in ms
local function request_at(at)
  local id, owner = ARGV[at], ARGV[at + 2]
  return with_mode({ id = id, owner = owner == '' and id or owner, lease = tonumber(ARGV[at + 3]),
    waits = ARGV[at + 4] == '1', period = tonumber(ARGV[at + 5]), patience = tonumber(ARGV[at + 6]),
    grant_timeout = tonumber(ARGV[at + 7]) }, ARGV[at + 1])
end

-- { HELD, now, token, lease left }
local function held(hold)
  return { HELD, now, hold.token, hold.ends - now }
end
