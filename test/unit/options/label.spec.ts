import { hostname } from 'node:os';
import { defaultLabel, readLabel } from '../../../lib/module/redis-lock.label.js';

const podName = process.env['POD_NAME'];
afterEach(() => {
  if (podName === undefined) delete process.env['POD_NAME'];
  else process.env['POD_NAME'] = podName;
});

it.each(['orders', 'orders-7f9c:17', 'a'.repeat(64), 'a/b@c'])('%s is a label', (label) => {
  expect(readLabel('label', label)).toBe(label);
});

it.each(['', 'two words', 'line\nbreak', 'bell\u0007', 'größe', 'a'.repeat(65), 17, null, {}])(
  'refuses %p, and says what a label is',
  (label) => {
    expect(() => readLabel('label', label)).toThrow(
      /^label is .+; write 1 to 64 printable ASCII characters without spaces/,
    );
  },
);

it.each(['redis://user:secret@host:6379', 'rediss://host', 'user:secret@host:6379'])(
  'refuses the URL %s, and does not repeat it',
  (label) => {
    expect(() => readLabel('label', label)).toThrow(
      /^label is a URL or a login, .* write a name, such as 'jobs', and the URL in the option connection/,
    );
    expect(() => readLabel('label', label)).not.toThrow(/secret/);
  },
);

/** The end of a long name tells hosts and pods apart. */
const shortened = (name: string): string => name.slice(-(63 - String(process.pid).length));
const long = `${'service-'.repeat(12)}7f9c`;

it.each([
  ['the host', undefined, shortened(hostname().replace(/[^\w.-]/g, '-'))],
  ['the pod', 'orders-7f9c', 'orders-7f9c'],
  ['a pod with blanks in its name', 'two words\n', 'two-words-'],
  ['a pod with a long name', long, shortened(long)],
])('is the name of %s and the process id by default', (_, pod, name) => {
  if (pod === undefined) delete process.env['POD_NAME'];
  else process.env['POD_NAME'] = pod;
  expect(defaultLabel()).toBe(`${name}:${process.pid}`);
});
