-- Holds: who has the lock, each with a lease end of its own.
local EXCLUSIVE = 'exclusive'
local KEPT = 'kept' -- given back already, and kept for the rest of its holdAtLeast

local function write_hold(hold)
  redis.call('HSET', STATE, hold.id, table.concat(
    { hold.mode, integer(hold.ends), integer(hold.token), integer(hold.since), hold.owner }, ' '))
end

local function read_hold(id, text)
  local mode, ends, token, since, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.+)$')
  if not mode then error('WRONGTYPE the state key holds something that is no lock') end
  return { id = id, mode = mode, ends = tonumber(ends), token = tonumber(token), since = tonumber(since), owner = owner }
end

-- The holds whose leases have not ended, and the ids of those whose leases have.
local function read_holds()
  local holds, ended = {}, {}
  local fields = redis.call('HGETALL', STATE)
  for i = 1, #fields, 2 do
    local hold = read_hold(fields[i], fields[i + 1])
    if hold.ends > now then holds[#holds + 1] = hold else ended[#ended + 1] = hold.id end
  end
  return holds, ended
end

local function find_hold(holds, id)
  for _, hold in ipairs(holds) do
    if hold.id == id then return hold end
  end
end

local function earliest_end(holds)
  local ends
  for _, hold in ipairs(holds) do ends = math.min(ends or hold.ends, hold.ends) end
  return ends
end

-- The state lives as long as the longest of its leases.
local function set_state_ttl(holds)
  local ends = 0
  for _, hold in ipairs(holds) do ends = math.max(ends, hold.ends) end
  if ends > 0 then redis.call('PEXPIREAT', STATE, integer(ends)) end
end

-- Whether somebody may come in beside those who are in already.
local function admits(holds, owner)
  for _, hold in ipairs(holds) do
    if hold.mode == KEPT or hold.owner ~= owner then return false end
  end
  return true
end

-- Writes a new hold, with the next fencing token.
local function grant(holds, id, mode, owner, lease)
  local hold = { id = id, mode = mode, ends = now + lease, token = next_token(lease), since = now, owner = owner }
  holds[#holds + 1] = hold
  write_hold(hold)
  set_state_ttl(holds)
  return hold
end
