// @ts-check

/**
 * The name under which Redis keeps a part of a lock of the default prefix. A key with a hash tag of its own keeps it.
 * @param {'state' | 'queue' | 'waiters' | 'fence' | 'tombstones' | 'limit' | 'ends'} role
 * @param {string} key
 */
export function redisKey(role, key) {
  const open = key.indexOf('{');
  const hasHashTag = open !== -1 && key.indexOf('}', open) > open + 1;
  return `lock:${role}:${hasHashTag ? key : `{${key}}`}`;
}

/**
 * The ids of the holds that a state has, in either of its forms (lua/shared/holds.lua).
 * @param {{ hkeys(name: string): Promise<string[]> }} admin
 * @param {string} state the name of the state
 */
export async function holdIds(admin, state) {
  return (await admin.hkeys(state)).flatMap((field) => (field.startsWith('#') ? [] : [field.replace(/^\+/, '')]));
}
