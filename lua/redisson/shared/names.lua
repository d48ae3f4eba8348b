-- The names that Redisson derives from that of a lock. Braces are literal.
local function tagged(lock)
  return string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
end

local function suffixed(lock, suffix)
  return tagged(lock) .. ':' .. suffix
end
