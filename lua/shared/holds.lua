-- Holds: who has the lock, each with a lease end of its own.
local function read_hold(id, text)
  local mode, ends, token, since, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.+)$')
  if not mode then error('WRONGTYPE the state key holds something that is no lock') end
  return with_mode({ id = id, ends = tonumber(ends), token = tonumber(token), since = tonumber(since), owner = owner }, mode)
end

local function write_hold(hold)
  redis.call('HSET', STATE, hold.id,
    string.format('%s%s %.0f %.0f %.0f %s', hold.pushed and PUSHED or '', hold.mode, hold.ends, hold.token, hold.since, hold.owner))
end

-- The holds whose leases have not ended, and those whose leases have.
local function read_holds()
  local holds, ended = {}, {}
  local fields = redis.call('HGETALL', STATE)
  for i = 1, #fields, 2 do
    local hold = read_hold(fields[i], fields[i + 1])
    if hold.ends > now then holds[#holds + 1] = hold else ended[#ended + 1] = hold end
  end
  return holds, ended
end

-- Answers the clients that have not taken what was pushed to them, each with a space behind it; but for that of `asker`.
local function drop_ended(ended, asker)
  local not_taken = ''
  for _, hold in ipairs(ended) do
    redis.call('HDEL', STATE, hold.id)
    local client = hold.pushed and string.match(hold.id, '^[^:]+')
    if client and not (asker and string.find(asker, client, 1, true)) then not_taken = not_taken .. client .. ' ' end
  end
  return not_taken
end

local function find_hold(holds, id)
  for _, hold in ipairs(holds) do
    if hold.id == id then return hold end
  end
end

-- When somebody may come in at the latest who waits now: who wants it alone needs all leases to end, others the first.
local function free_at(holds, request)
  local pick = request.kind == EXCLUSIVE and math.max or math.min
  local ends
  for _, hold in ipairs(holds) do ends = pick(ends or hold.ends, hold.ends) end
  return ends
end

-- The state lives as long as the longest of its leases; with a pushed grant half a second longer, so that a waiter that
-- asks then notices one that was not taken.
local NOTICED_FOR = 500

local function set_state_ttl(holds)
  local ends = 0
  for _, hold in ipairs(holds) do
    ends = math.max(ends, hold.pushed and hold.ends + NOTICED_FOR or hold.ends)
  end
  if ends > 0 then redis.call('PEXPIREAT', STATE, integer(ends)) end
end

-- Writes a new hold, with the next fencing token; and with those for its turns, which are its client's to give.
local function grant(holds, request, lease, turns, pushed)
  local token, reserved = next_token(lease, math.max(1, turns))
  local hold = with_mode({ id = request.id, ends = now + lease, token = token, since = now, owner = request.owner,
    turns = reserved }, request.mode)
  hold.pushed = pushed
  holds[#holds + 1] = hold
  write_hold(hold)
  set_state_ttl(holds)
  if request.kind == PERMITS then redis.call('PEXPIRE', LIMIT, LIMIT_MEMORY) end
  return hold
end
