import fc from 'fast-check';
import { Command } from 'ioredis';
import { ScriptCommand } from '../../../lib/store/redis/ioredis-lines.js';
import type { SentScript } from '../../../lib/store/redis/line.js';
import { allArgs, LockNaming, namedKeys, type ScriptCall } from '../../../lib/store/redis/script-call.js';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
const call = fc.record<ScriptCall>({
  command: fc.constantFrom('eval', 'evalsha'),
  script: text,
  keys: fc.oneof(
    fc.array(text, { maxLength: 4 }).map((names) => namedKeys(names)),
    key.map((name) => new LockNaming('shop:lock', 'me', false).of(name)),
    key.map((name) => new LockNaming('lock', 'me', true).of(`a{${name}}b`)),
  ),
  args: fc.array(
    fc.oneof(
      text,
      fc.maxSafeInteger(),
      text.map((it) => () => it),
    ),
    { maxLength: 6 },
  ),
});

describe('a script that encodes itself', () => {
  it('writes what ioredis would write', () => {
    fc.assert(
      fc.property(call, (it) => {
        const usual = new Command(it.command, [...allArgs(it)]);
        expect(new ScriptCommand(it as SentScript, {}).toWritable()).toBe(usual.toWritable({}));
      }),
    );
  });

  it('exposes its arguments to ioredis for errors, traces and slots', () => {
    fc.assert(
      fc.property(call, (it) => {
        const usual = new Command(it.command, [...allArgs(it)]);
        const command = new ScriptCommand(it as SentScript, {});
        expect(command.args).toEqual(usual.args);
        expect(command.getKeys()).toEqual(usual.getKeys());
      }),
    );
  });
});
