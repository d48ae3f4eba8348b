-- A request for the lock, as acquire and release carry it in ARGV:
--   id, mode, owner ('': its own id), lease,
--   turns while nobody else waits: how many of its client may have it in turn, each with a token of its own; 0: its own,
--     and as soon as it waits others give up theirs (a fair one),
--   the rest in one text, which most never need: place in the queue to go on from (0 at first), whether it waits (1 or 0),
--     ask-again period, patience, grant timeout, turns while others wait, ms since it came, for its place in the queue
--     (left out: at the end), 'younger' if it has taken something from that
-- Times are in ms.
local REQUEST_SIZE = 6

local function request_at(at)
  local id, owner = ARGV[at], ARGV[at + 2]
  local from, waits, period, patience, grant_timeout, turns, age, younger =
    string.match(ARGV[at + 5], '^(%d+) ([01]) (%d+) (%d+) (%d+) (%d+) ?(%S*) ?(.*)$')
  return with_mode({ id = id, owner = owner == '' and id or owner, lease = tonumber(ARGV[at + 3]),
    turns_alone = tonumber(ARGV[at + 4]), from = tonumber(from), waits = waits == '1', period = tonumber(period),
    patience = tonumber(patience), grant_timeout = tonumber(grant_timeout), turns = tonumber(turns),
    age = tonumber(age), younger = younger ~= '' }, ARGV[at + 1])
end

-- { HELD or FOUND, now, token, lease left, turns }
local function held(hold, code)
  return { code or HELD, now, hold.token, hold.ends - now, hold.turns or 1 }
end
