-- The server's time is the only clock of leases: clients send lengths of time and never a point in time.
local function server_time()
  local time = redis.call('TIME')
  local micros = time[1] * 1000000 + time[2]
  return math.floor(micros / 1000), micros
end
local now, now_micros = server_time()

-- Lua would write large numbers as 1.7e+15.
local function integer(number)
  return string.format('%.0f', number)
end
