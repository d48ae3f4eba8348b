-- A small Redis: the key space of each server, the commands that the scripts use, and what surrounds a script. Calls that they
-- make have the replies and effects of Redis 7.0; test/contract/simulated-redis.spec.ts compares them with real servers. Any
-- other call is an error, and a run in which a script fails is a failed run.
--
-- Everything runs inside one Lua 5.1, so a script costs one crossing from JavaScript. JavaScript calls the functions of the
-- table at the end.

local floor, format, match, insert, concat, sort, unpack, huge =
  math.floor, string.format, string.match, table.insert, table.concat, table.sort, unpack, math.huge

local servers = {} -- by their numbers
local chunks = {} -- compiled scripts, by their hashes

-- While a command or a script runs: its server, the server's clock in ms and µs, the keys that it may use (nil: all), the
-- first key that it used without a declaration, and the messages that it has published.
local server, now, micros, declared, undeclared, published

local function fail(message)
  error({ err = message }, 0)
end

local function check(is_meant)
  if not is_meant then fail('ERR the small Redis does not know this call') end
end

local function integer_of(text)
  check(text == '0' or match(text, '^-?[1-9]%d*$') and #text <= 16)
  return tonumber(text)
end

local function float_of(text)
  local number = text == '+inf' and huge or text == '-inf' and -huge or tonumber(text)
  check(number and number == number)
  return number
end

local function text_of(number)
  if number == floor(number) and number > -1e17 and number < 1e17 then return format('%.0f', number) end
  return format('%.17g', number)
end

-- A number from 0 up to 1, of the server's own stream (Park and Miller).
local function random()
  server.noise = server.noise * 16807 % 2147483647
  return server.noise / 2147483647
end

-- The place of a field in the order of HSCAN.
local function place_of(field)
  local place = server.salt
  for i = 1, #field do place = (place * 31 + string.byte(field, i)) % 2147483629 end
  return place * 48271 % 2147483647 + 1
end

-- The entry of a key, or nil. A key lives up to and including the ms of its end.
local function entry_of(key, kind)
  local entry = server.keys[key]
  if not entry then return end
  if entry.ends and entry.ends < now then
    server.keys[key] = nil
    return
  end
  if kind and entry.kind ~= kind then fail('WRONGTYPE Operation against a key holding the wrong kind of value') end
  return entry
end

-- The entry of a key, or that of none.
local NONE = { size = 0, values = {} }
local function entry_or_none(key, kind)
  return entry_of(key, kind) or NONE
end

local function entry_for(key, kind)
  local entry = entry_of(key, kind)
  if not entry then
    entry = { kind = kind, size = 0, values = {} }
    server.keys[key] = entry
  end
  return entry
end

local function forget_empty(key, entry)
  if entry.size == 0 then server.keys[key] = nil end
end

local function fields_in_any_order(entry)
  local fields = {}
  for field in pairs(entry.values) do fields[#fields + 1] = field end
  for i = #fields, 2, -1 do
    local j = floor(random() * i) + 1
    fields[i], fields[j] = fields[j], fields[i]
  end
  return fields
end

-- The members of a sorted set in their order.
local function sorted(entry)
  if entry.order then return entry.order end
  local order, scores = {}, entry.values
  for member in pairs(scores) do order[#order + 1] = member end
  sort(order, function(a, b)
    local one, other = scores[a], scores[b]
    if one ~= other then return one < other end
    return a < b
  end)
  entry.order = order
  return order
end

-- Whether a score is within two bounds, as ZRANGE takes them.
local function within(least, most)
  local low_open, low = match(least, '^(%(?)(.+)')
  local high_open, high = match(most, '^(%(?)(.+)')
  low, high = float_of(low), float_of(high)
  return function(score)
    return (score > low or low_open == '' and score == low) and (score < high or high_open == '' and score == high)
  end
end

local function with_scores(members, entry, wanted)
  if not wanted then return members end
  local list = {}
  for i, member in ipairs(members) do list[2 * i - 1], list[2 * i] = member, text_of(entry.values[member]) end
  return list
end

local function by_rank(key, from, to, reverse, scores)
  from, to = integer_of(from), integer_of(to)
  local entry = entry_or_none(key, 'zset')
  local order, size, members = sorted(entry), entry.size, {}
  if from < 0 then from = math.max(0, size + from) end
  if to < 0 then to = size + to end
  for rank = from, math.min(to, size - 1) do members[#members + 1] = order[reverse and size - rank or rank + 1] end
  return with_scores(members, entry, scores)
end

local function by_score(key, from, to, reverse, scores, offset, count)
  local is_meant = within(reverse and to or from, reverse and from or to)
  local entry = entry_or_none(key, 'zset')
  local order, members, first, last, step = sorted(entry), {}, 1, entry.size, 1
  if reverse then first, last, step = last, first, -1 end
  for i = first, last, step do
    local member = order[i]
    if is_meant(entry.values[member]) then
      if offset > 0 then offset = offset - 1
      elseif count == #members then break
      else members[#members + 1] = member end
    end
  end
  return with_scores(members, entry, scores)
end

local function delete(...)
  local count = 0
  for i = 1, select('#', ...) do
    local key = select(i, ...)
    if entry_of(key) then
      server.keys[key] = nil
      count = count + 1
    end
  end
  return count
end

-- HDEL, ZREM: removes fields or members.
local function removal_from(kind)
  return function(key, ...)
    local entry, count = entry_or_none(key, kind), 0
    for i = 1, select('#', ...) do
      local name = select(i, ...)
      if entry.values[name] then
        entry.values[name], entry.order = nil, nil
        count = count + 1
      end
    end
    entry.size = entry.size - count
    forget_empty(key, entry)
    return count
  end
end

-- HLEN, ZCARD.
local function size_of(kind)
  return function(key) return entry_or_none(key, kind).size end
end

local function expire_at(key, ends)
  local entry = entry_of(key)
  if not entry then return 0 end
  if ends <= now then server.keys[key] = nil else entry.ends = ends end
  return 1
end

local function publish(channel, message)
  published[#published + 1] = channel
  published[#published + 1] = message
  return server.channels[channel] or 0
end

-- Each command: its least and largest number of arguments, how many of them from the first on are keys, and its function.
local commands = {
  DEL = { 1, huge, huge, delete },
  UNLINK = { 1, huge, huge, delete },
  EXISTS = { 1, huge, huge, function(...)
    local count = 0
    for i = 1, select('#', ...) do
      if entry_of((select(i, ...))) then count = count + 1 end
    end
    return count
  end },
  PEXPIRE = { 2, 2, 1, function(key, ms) return expire_at(key, now + integer_of(ms)) end },
  PEXPIREAT = { 2, 2, 1, function(key, ends) return expire_at(key, integer_of(ends)) end },
  PTTL = { 1, 1, 1, function(key)
    local entry = entry_of(key)
    return entry and (entry.ends and entry.ends - now or -1) or -2
  end },

  GET = { 1, 1, 1, function(key) return entry_or_none(key, 'string').value or false end },
  SET = { 2, 4, 1, function(key, value, px, ms)
    check(px == nil or px == 'PX' and integer_of(ms) > 0)
    server.keys[key] = { kind = 'string', value = value, ends = px and now + integer_of(ms) }
    return { ok = 'OK' }
  end },

  HGET = { 2, 2, 1, function(key, field) return entry_or_none(key, 'hash').values[field] or false end },
  HMGET = { 2, huge, 1, function(key, ...)
    local entry, list = entry_or_none(key, 'hash'), { ... }
    for i, field in ipairs(list) do list[i] = entry.values[field] or false end
    return list
  end },
  HSET = { 3, huge, 1, function(key, ...)
    local entry, pieces, added = entry_for(key, 'hash'), { ... }, 0
    check(#pieces % 2 == 0)
    for i = 1, #pieces, 2 do
      if not entry.values[pieces[i]] then added = added + 1 end
      entry.values[pieces[i]] = pieces[i + 1]
    end
    entry.size = entry.size + added
    return added
  end },
  HDEL = { 2, huge, 1, removal_from('hash') },
  HLEN = { 1, 1, 1, size_of('hash') },
  HGETALL = { 1, 1, 1, function(key)
    local entry, list = entry_or_none(key, 'hash'), {}
    for i, field in ipairs(fields_in_any_order(entry)) do list[2 * i - 1], list[2 * i] = field, entry.values[field] end
    return list
  end },
  -- Returns each field that exists from the first call to the last one, some of them twice.
  HSCAN = { 4, 4, 1, function(key, cursor, word, count)
    cursor, count = integer_of(cursor), integer_of(count)
    check(word == 'COUNT' and count > 0)
    local entry = entry_or_none(key, 'hash')
    local places, order = {}, {}
    for field in pairs(entry.values) do
      places[field] = place_of(field)
      if places[field] >= cursor then order[#order + 1] = field end
    end
    sort(order, function(a, b) return places[a] < places[b] or places[a] == places[b] and a < b end)
    local list, next_cursor, last = {}, '0', 0
    for _, field in ipairs(order) do
      if #list >= 2 * count and places[field] > last then
        next_cursor = text_of(random() < 0.2 and count > 1 and last or places[field])
        break
      end
      last = places[field]
      list[#list + 1], list[#list + 2] = field, entry.values[field]
    end
    return { next_cursor, list }
  end },

  ZADD = { 3, huge, 1, function(key, ...)
    local pieces, added = { ... }, 0
    local flag = #pieces % 2 == 1 and table.remove(pieces, 1)
    check(not flag or flag == 'NX' or flag == 'XX' or flag == 'LT')
    if flag == 'XX' and not entry_of(key, 'zset') then return 0 end
    local entry = entry_for(key, 'zset')
    for i = 1, #pieces, 2 do
      local score, member = float_of(pieces[i]), pieces[i + 1]
      local old = entry.values[member]
      if not old and flag ~= 'XX' then
        entry.values[member], entry.size, entry.order, added = score, entry.size + 1, nil, added + 1
      elseif old and flag ~= 'NX' and not (flag == 'LT' and score >= old) and score ~= old then
        entry.values[member], entry.order = score, nil
      end
    end
    return added
  end },
  ZREM = { 2, huge, 1, removal_from('zset') },
  ZREMRANGEBYSCORE = { 3, 3, 1, function(key, least, most)
    local is_meant, entry, count = within(least, most), entry_or_none(key, 'zset'), 0
    for _, member in ipairs(sorted(entry)) do
      if is_meant(entry.values[member]) then
        entry.values[member] = nil
        count = count + 1
      end
    end
    entry.size, entry.order = entry.size - count, nil
    forget_empty(key, entry)
    return count
  end },
  ZCARD = { 1, 1, 1, size_of('zset') },
  ZSCORE = { 2, 2, 1, function(key, member)
    local score = entry_or_none(key, 'zset').values[member]
    return score and text_of(score) or false
  end },
  ZRANK = { 2, 2, 1, function(key, member)
    for i, other in ipairs(sorted(entry_or_none(key, 'zset'))) do
      if other == member then return i - 1 end
    end
    return false
  end },
  ZRANGE = { 3, 9, 1, function(key, from, to, ...)
    local pieces, at, flags, offset, count = { ... }, 1, {}, 0, -1
    while pieces[at] do
      local flag = pieces[at]
      check(flag == 'BYSCORE' or flag == 'REV' or flag == 'LIMIT' or flag == 'WITHSCORES')
      flags[flag], at = true, at + 1
      if flag == 'LIMIT' then offset, count, at = integer_of(pieces[at]), integer_of(pieces[at + 1]), at + 2 end
    end
    if flags.BYSCORE then return by_score(key, from, to, flags.REV, flags.WITHSCORES, offset, count) end
    check(not flags.REV and not flags.LIMIT)
    return by_rank(key, from, to, false, flags.WITHSCORES)
  end },
  ZREVRANGE = { 4, 4, 1, function(key, from, to) return by_rank(key, from, to, true, true) end },

  TIME = { 0, 0, 0, function() return { format('%.0f', floor(micros / 1000000)), format('%.0f', micros % 1000000) } end },
  CLUSTER = { 1, 1, 0, function(what)
    return what == 'MYID' and server.node or fail('ERR This instance has cluster support disabled')
  end },
  PUBLISH = { 2, 2, 0, publish },
  SPUBLISH = { 2, 2, 0, publish },
  PUBSUB = { 1, huge, 0, function(what, ...)
    check(what == 'NUMSUB' or what == 'SHARDNUMSUB')
    local list = {}
    for i, channel in ipairs({ ... }) do list[2 * i - 1], list[2 * i] = channel, server.channels[channel] or 0 end
    return list
  end },
}

local function execute(name, ...)
  local command, args, count = commands[name], { ... }, select('#', ...)
  check(command and count >= command[1] and count <= command[2])
  for i = 1, count do
    if type(args[i]) == 'number' then args[i] = format('%.17g', args[i]) end
    check(type(args[i]) == 'string')
    if declared and i <= command[3] and not declared[args[i]] then undeclared = args[i] end
  end
  return command[4](unpack(args, 1, count))
end

local redis = {
  call = execute,
  pcall = function(...)
    local worked, reply = pcall(execute, ...)
    if worked or type(reply) == 'table' then return reply end
    error(reply, 0)
  end,
  REDIS_VERSION_NUM = 0x0007000f,
}

-- The globals of scripts. A script can neither read nor make another one.
local globals = setmetatable({ redis = redis, KEYS = false, ARGV = false }, {
  __index = function(_, name) error("there is no global '" .. tostring(name) .. "'", 2) end,
  __newindex = function(_, name) error("makes the global '" .. tostring(name) .. "'", 2) end,
})
for _, name in ipairs({ 'error', 'ipairs', 'math', 'pairs', 'pcall', 'string', 'table', 'tonumber', 'tostring', 'type',
  'unpack' }) do
  rawset(globals, name, _G[name])
end

-- A number loses its fraction.
local function write_number(number)
  local whole = number < 0 and math.ceil(number) or floor(number)
  return format(':%.0f\r\n', whole == 0 and 0 or whole)
end

-- Writes what a script or a command returns as Redis does.
local function write(value, out)
  local kind = type(value)
  if kind == 'number' then
    out[#out + 1] = write_number(value)
  elseif kind == 'string' then
    out[#out + 1] = '$' .. #value .. '\r\n' .. value .. '\r\n'
  elseif value == true then
    out[#out + 1] = ':1\r\n'
  elseif kind ~= 'table' then
    out[#out + 1] = '$-1\r\n'
  elseif type(value.err) == 'string' then
    out[#out + 1] = '-' .. string.gsub(value.err, '[\r\n]', ' ') .. '\r\n'
  elseif type(value.ok) == 'string' then
    out[#out + 1] = '+' .. string.gsub(value.ok, '[\r\n]', ' ') .. '\r\n'
  else
    local size = 0
    while value[size + 1] ~= nil do size = size + 1 end
    out[#out + 1] = '*' .. size .. '\r\n'
    for i = 1, size do write(value[i], out) end
  end
end

local function written(value)
  if type(value) == 'number' then return write_number(value) end
  local out = {}
  write(value, out)
  return concat(out)
end

local function begin(number, time)
  server, micros, now, undeclared, published = servers[number], time, floor(time / 1000), nil, {}
end

-- A key that a command has left without an end: it would stay forever.
local function endless(keys)
  for _, key in ipairs(keys) do
    local entry = server.keys[key]
    if entry and not entry.ends then return key end
  end
end

-- Returns the reply, the published messages, and what is wrong with the keys.
local function finish(worked, reply, keys)
  if not worked and type(reply) ~= 'table' then reply = { err = 'ERR ' .. tostring(reply) } end
  local endless_key = endless(keys)
  local fault = undeclared and "uses '" .. undeclared .. "', which is not among its keys"
    or endless_key and "leaves '" .. endless_key .. "' without a TTL" or nil
  return written(reply), #published > 0 and written(published) or nil, fault
end

return {
  -- An empty server. `seed`: decides the order of the fields of hashes. `node`: its id in a Cluster.
  create = function(number, seed, node)
    servers[number] = { keys = {}, channels = {}, noise = seed % 2147483645 + 1, salt = seed, node = node }
  end,

  -- Makes a server a copy of another one: the same keys, and no subscriber.
  copy = function(from, number)
    local source, keys, node = servers[from], {}, servers[number].node
    for key, entry in pairs(source.keys) do
      local copy = { kind = entry.kind, size = entry.size, value = entry.value, ends = entry.ends, values = {} }
      for name, value in pairs(entry.values or {}) do copy.values[name] = value end
      keys[key] = copy
    end
    servers[number] = { keys = keys, channels = {}, noise = source.noise, salt = source.salt, node = node }
  end,

  drop = function(number)
    servers[number] = nil
  end,

  subscribed = function(number, channel, subscribers)
    servers[number].channels[channel] = subscribers > 0 and subscribers or nil
  end,

  -- Compiles a script. Returns the error, if it has one.
  load = function(sha, source)
    local chunk, problem = loadstring(source, '@user_script')
    if not chunk then return problem end
    chunks[sha] = setfenv(chunk, globals)
  end,

  run = function(number, time, sha, key_count, ...)
    begin(number, time)
    local all, keys, args = { ... }, {}, {}
    declared = {}
    for i = 1, key_count do
      keys[i] = all[i]
      declared[all[i]] = true
    end
    for i = key_count + 1, #all do args[i - key_count] = all[i] end
    globals.KEYS, globals.ARGV = keys, args
    local worked, reply = pcall(chunks[sha])
    return finish(worked, reply, keys)
  end,

  -- A command outside scripts.
  command = function(number, time, ...)
    begin(number, time)
    declared = nil
    local worked, reply = pcall(execute, ...)
    return finish(worked, reply, {})
  end,

  -- Keys as they are: the end of each (-1: none), its type, and its value: of a hash and a sorted set a list.
  look = function(number, time, ...)
    begin(number, time)
    local list = {}
    for i, key in ipairs({ ... }) do
      local entry = entry_of(key)
      local value = entry and entry.value or {}
      if entry and entry.kind == 'zset' then
        value = with_scores(sorted(entry), entry, true)
      elseif entry and entry.kind == 'hash' then
        for field, text in pairs(entry.values) do
          value[#value + 1] = field
          value[#value + 1] = text
        end
      end
      list[i] = { entry and entry.ends or -1, entry and entry.kind or 'none', value }
    end
    return written(list)
  end,

  -- The names of all keys.
  names = function(number, time)
    begin(number, time)
    local names = {}
    for key, entry in pairs(server.keys) do
      if not entry.ends or entry.ends >= now then names[#names + 1] = key end
    end
    return written(names)
  end,
}
