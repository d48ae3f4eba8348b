// @ts-check

/**
 * The name under which Redis keeps a part of a lock of the default prefix. A key with a hash tag of its own keeps it.
 * @param {'state' | 'queue' | 'waiters' | 'fence' | 'tombstones' | 'limit'} role
 * @param {string} key
 */
export function redisKey(role, key) {
  const open = key.indexOf('{');
  const hasHashTag = open !== -1 && key.indexOf('}', open) > open + 1;
  return `lock:${role}:${hasHashTag ? key : `{${key}}`}`;
}
