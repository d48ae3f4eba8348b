import { replyError, RespReader, type RespValue } from '../../../lab/testbed/proxies/resp-reader.mjs';

const EXAMPLES: Array<[string, RespValue]> = [
  ['+OK\r\n', 'OK'],
  ['-ERR no\r\n', replyError('ERR no')],
  [':-42\r\n', -42],
  ['$5\r\na\r\nbc\r\n', 'a\r\nbc'],
  ['$6\r\nnaïve\r\n', 'naïve'],
  ['$0\r\n\r\n', ''],
  ['$-1\r\n', null],
  ['*-1\r\n', null],
  ['*0\r\n', []],
  ['*3\r\n:1\r\n*2\r\n+a\r\n$-1\r\n$1\r\nb\r\n', [1, ['a', null], 'b']],
  ['_\r\n', null],
  ['#t\r\n', 't'],
  [',1.5\r\n', '1.5'],
  ['(3492890328409238509324850943850943825024385\r\n', '3492890328409238509324850943850943825024385'],
  ['!5\r\nERR x\r\n', replyError('ERR x')],
  ['=8\r\ntxt:text\r\n', 'txt:text'],
  ['~2\r\n+a\r\n+b\r\n', ['a', 'b']],
  ['>3\r\n+message\r\n+ch\r\n+hi\r\n', ['message', 'ch', 'hi']],
  ['%2\r\n+a\r\n%1\r\n+b\r\n:1\r\n+c\r\n*1\r\n#t\r\n', ['a', ['b', 1], 'c', ['t']]],
  ['|1\r\n+ttl\r\n:3\r\n*2\r\n|1\r\n+x\r\n+y\r\n:1\r\n:2\r\n', [1, 2]],
];

describe('RespReader', () => {
  it.each(EXAMPLES)('reads %j', (text, value) => {
    const [frame, ...others] = new RespReader('server').push(Buffer.from(text));
    expect(frame?.value).toEqual(value);
    expect(frame?.raw.toString()).toBe(text);
    expect(others).toEqual([]);
  });

  it('reads messages that arrive in pieces, wherever they are cut', () => {
    const stream = Buffer.from(EXAMPLES.map(([text]) => text).join(''));
    for (const size of [1, 2, 3, 7, 64]) {
      const reader = new RespReader('server');
      const values: RespValue[] = [];
      for (let start = 0; start < stream.length; start += size) {
        // A copy, as a socket gives: nothing may rely on the bytes behind the piece.
        const frames = reader.push(Buffer.from(stream.subarray(start, start + size)));
        values.push(...frames.map(({ value }) => value));
      }
      expect(values).toEqual(EXAMPLES.map(([, value]) => value));
    }
  });

  it('reads the kind of a message with attributes', () => {
    const [frame] = new RespReader('server').push(Buffer.from('|1\r\n+a\r\n+b\r\n>1\r\n+invalidate\r\n'));
    expect(frame?.type).toBe('>');
  });

  it('reads commands, inline ones too', () => {
    const frames = new RespReader('client').push(Buffer.from('PING hi\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n\r\n'));
    expect(frames.map(({ value }) => value)).toEqual([['PING', 'hi'], ['GET', 'k'], []]);
  });

  it('refuses invalid RESP', () => {
    expect(() => new RespReader('server').push(Buffer.from('HTTP/1.1 400\r\n'))).toThrow('no message starts with');
  });
});
