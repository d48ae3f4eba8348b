/** Nothing stays behind in Redis, no entry there lasts forever, and nothing unexpected happens. */
export function remains({ left, eternal, revived, surprise, end }) {
  const found = [];
  const add = (rule, at, message) => found.push({ rule, at, message, operations: [] });
  for (const { at, keys } of left) if (keys.length > 0) add('remains', at, `left in Redis: ${keys.join(', ')}`);
  for (const { at, keys } of eternal) add('remains', at, `without a TTL: ${keys.join(', ')}`);
  for (const { at, holds } of revived)
    add('remains', at, `held again after it was released or had ended: ${holds.join(', ')}`);
  for (const { at, client, text } of surprise) add('surprise', at, `${client}: ${text}`);
  // A history that breaks off says nothing about the end.
  if (end.length === 0) add('incomplete', 0, 'the history has no end');
  else if (left.length === 0) add('incomplete', end[0].at, 'the run did not check what was left in Redis');
  return found;
}
