import { messageOf } from '../../../lib/common/describe.js';

const withGetter = Object.defineProperty(new Error('text'), 'message', {
  get() {
    throw new Error('thrown by the getter');
  },
});

it.each<[string, unknown, string]>([
  ['an error', new Error('text'), 'text'],
  ['a text', 'text', 'text'],
  ['undefined', undefined, 'undefined'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['an error whose message is a symbol', Object.assign(new Error('text'), { message: Symbol('s') }), 'Symbol(s)'],
  ['an object without a prototype', Object.create(null), 'an object'],
  ['an error whose message throws', withGetter, 'an object (Error)'],
])('messageOf has a text for %s', (_what, thrown, text) => {
  expect(messageOf(thrown)).toBe(text);
});
