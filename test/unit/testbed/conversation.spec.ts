import { Conversation, type RespCommand } from '../../../lab/testbed/proxies/resp-conversation.mjs';
import { RespReader } from '../../../lab/testbed/proxies/resp-reader.mjs';

describe('Conversation', () => {
  let conversation: Conversation<RespCommand>;

  beforeEach(() => {
    conversation = new Conversation();
  });

  const ask = (...commands: string[]): void => {
    for (const command of commands) {
      const [name = '', ...args] = command.split(' ');
      conversation.asked({ name, args });
    }
  };

  /** For each message which command it answers, or a part of it; `-` for pushes. */
  const answers = (text: string): string[] =>
    new RespReader('server').push(Buffer.from(text)).map((frame) => conversation.answered(frame)?.name ?? '-');

  it('treats unrequested replies as pushed messages', () => {
    expect(answers('-LOADING wait\r\n')).toEqual(['-']);
  });

  describe.each([
    ['RESP2', '*'],
    ['RESP3', '>'],
  ])('%s subscriptions', (protocol, push) => {
    beforeEach(() => {
      if (protocol === 'RESP2') return;
      ask('hello 3');
      answers('%1\r\n+proto\r\n:3\r\n');
    });

    const confirm = (kind: string, channel: string | null, count: number): string =>
      `${push}3\r\n+${kind}\r\n${channel === null ? '$-1' : `+${channel}`}\r\n:${count}\r\n`;
    const message = `${push}3\r\n+message\r\n+a\r\n+hi\r\n`;

    it('are answered once per channel, with messages in between', () => {
      ask('get x', 'subscribe a b', 'ping');
      const text = `+x\r\n${confirm('subscribe', 'a', 1)}${message}${confirm('subscribe', 'b', 2)}${message}`;
      expect(answers(text)).toEqual(['get', 'subscribe', '-', 'subscribe', '-']);
      expect(conversation.channels).toEqual(['a', 'b']);
      expect(answers(protocol === 'RESP2' ? '*2\r\n+pong\r\n$0\r\n\r\n' : '+PONG\r\n')).toEqual(['ping']);
    });

    it('end once per channel if none is named', () => {
      ask('subscribe a b', 'psubscribe p*', 'unsubscribe', 'ping');
      answers(confirm('subscribe', 'a', 1) + confirm('subscribe', 'b', 2) + confirm('psubscribe', 'p*', 3));
      expect(answers(confirm('unsubscribe', 'a', 2) + message + confirm('unsubscribe', 'b', 1))).toEqual([
        'unsubscribe',
        '-',
        'unsubscribe',
      ]);
      expect(conversation.channels).toEqual(['p*']);
    });

    it('end with one reply if there are none', () => {
      ask('unsubscribe', 'get x');
      expect(answers(`${confirm('unsubscribe', null, 0)}+x\r\n`)).toEqual(['unsubscribe', 'get']);
    });

    it('can be refused', () => {
      ask('ssubscribe a b', 'get x');
      expect(answers('-CROSSSLOT no\r\n+x\r\n')).toEqual(['ssubscribe', 'get']);
      expect(conversation.isSubscriber).toBe(false);
    });

    it('can be ended by the server', () => {
      ask('ssubscribe a');
      answers(confirm('ssubscribe', 'a', 1));
      ask('ping');
      expect(answers(confirm('sunsubscribe', 'a', 0))).toEqual(['-']);
      expect(conversation.isSubscriber).toBe(false);
    });

    it('do not affect ordinary arrays after they end', () => {
      ask('subscribe a', 'unsubscribe a', 'lrange l');
      answers(confirm('subscribe', 'a', 1) + confirm('unsubscribe', 'a', 0));
      expect(answers('*3\r\n+message\r\n+a\r\n+b\r\n')).toEqual(['lrange']);
    });
  });
});
