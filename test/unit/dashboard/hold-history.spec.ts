import { HoldHistory } from '../../../lib/dashboard/hold-history.js';
import type { LockEvent } from '../../../lib/engine/lock-event.js';

type Acquired = Extract<LockEvent, { type: 'acquired' }>;

/** What happens to the keys of one process, with a clock that each event moves on by a second. */
class Process {
  readonly history = new HoldHistory();
  now = 0;
  private token = 0;

  acquire(key: string, about: Partial<Acquired> = {}): Acquired {
    const event: Acquired = {
      ...{ type: 'acquired', key, owner: 'ann', kind: 'exclusive', pattern: undefined, method: undefined },
      ...{ label: 'pod-1', fencingToken: ++this.token, waited: 0, contended: false, previousHolder: undefined },
      ...about,
    };
    this.history.began(event, (this.now += 1_000));
    return event;
  }

  end(type: 'released' | 'lost', acquired: Acquired, held = 1): void {
    const { key, owner, kind, pattern, method, label, fencingToken } = acquired;
    const call = { key, owner, kind, pattern, method, label, fencingToken, held };
    const at = (this.now += 1_000);
    const loss = {
      reason: 'its lease expired',
      lossReason: 'lease-ended',
      forcedBy: undefined,
      nextHolder: undefined,
    } as const;
    this.history.ended(type === 'lost' ? { type, ...call, ...loss } : { type, ...call }, at);
  }

  keys = (...words: string[]): string[] => this.history.read(words).map(({ key }) => key);
}

describe('HoldHistory', () => {
  it('tells how long each holder waited and held, after whom, and how its hold ended', () => {
    const process = new Process();
    const first = process.acquire('stock', { owner: 'ann', pattern: 'stock:#{id}', method: 'Shop.sell' });
    process.end('released', first, 40);
    const second = process.acquire('stock', { owner: 'bob', waited: 35, contended: true, previousHolder: 'pod-2' });
    process.end('lost', second, 900);
    process.acquire('stock', { owner: 'cid' });
    expect(process.history.read([])).toEqual([
      expect.objectContaining({ name: 'cid', at: 5_000, waited: 0, end: undefined, held: undefined }),
      expect.objectContaining({
        ...{ name: 'bob', waited: 35, previousHolder: 'pod-2', end: 'lost', held: 900, reason: 'its lease expired' },
      }),
      {
        ...{ key: 'stock', name: 'ann', kind: 'exclusive', pattern: 'stock:#{id}', method: 'Shop.sell' },
        ...{ label: 'pod-1', at: 1_000, waited: 0, held: 40, end: 'released' },
        ...{ previousHolder: undefined, reason: undefined },
      },
    ]);
  });

  it('keeps holds of one key apart that overlap', () => {
    const process = new Process();
    const [one, two] = [process.acquire('prices', { kind: 'read' }), process.acquire('prices')];
    process.end('released', one, 7);
    expect(process.history.read([]).map(({ held }) => held)).toEqual([undefined, 7]);
    process.end('lost', two, 8);
    expect(process.history.read([]).map(({ held, end }) => [held, end])).toEqual([
      [8, 'lost'],
      [7, 'released'],
    ]);
  });

  it('keeps holds apart in stores without fencing tokens', () => {
    const process = new Process();
    const one = process.acquire('a', { fencingToken: 0, owner: 'x:1' });
    process.acquire('a', { fencingToken: 0, owner: 'x:2' });
    process.end('released', one, 7);
    const again = process.acquire('a', { fencingToken: 0, owner: 'x:1' });
    process.end('lost', again, 9);
    expect(process.history.read([]).map(({ name, held }) => [name, held])).toEqual([
      ['x:1', 9],
      ['x:2', undefined],
      ['x:1', 7],
    ]);
  });

  it('lists a hold that began before the recording', () => {
    const process = new Process();
    const before = new Process().acquire('a');
    process.now = 60_000;
    process.end('released', before, 50_000);
    expect(process.history.read([])).toMatchObject([{ key: 'a', at: 11_000, waited: undefined, held: 50_000 }]);
  });

  it('finds the holds of a key, an owner, a method, a label or a kind', () => {
    const process = new Process();
    process.acquire('Order:1', { method: 'Orders.pay' });
    process.acquire('order:2', { owner: 'bob', kind: 'read' });
    process.end('lost', process.acquire('cart'));
    expect(process.keys()).toEqual(['cart', 'order:2', 'Order:1']);
    expect(process.keys('order:1')).toEqual(['Order:1']);
    expect(process.keys('order', 'bob')).toEqual(['order:2']);
    expect(process.keys('orders.pay')).toEqual(['Order:1']);
    expect(process.keys('read')).toEqual(['order:2']);
    expect(process.keys('lost')).toEqual(['cart']);
    expect(process.keys('pod-1')).toHaveLength(3);
    expect(process.keys('none')).toEqual([]);
  });

  it('remembers ten holds of a key, however busy other keys are', () => {
    const process = new Process();
    process.end('released', process.acquire('nightly'));
    for (let i = 0; i < 5_000; i++) process.end('released', process.acquire('hot', { waited: i }));
    expect(process.history.read(['hot']).map(({ waited }) => waited)).toEqual(
      Array.from({ length: 10 }, (_, i) => 4_999 - i),
    );
    expect(process.keys('nightly')).toEqual(['nightly']);
  });

  it('lists the last 8 holds of all keys, and the last 20 that a filter finds', () => {
    const process = new Process();
    for (let i = 0; i < 30; i++) process.acquire(`key:${i}`);
    expect(process.keys()).toEqual(Array.from({ length: 8 }, (_, i) => `key:${29 - i}`));
    expect(process.keys('key')).toEqual(Array.from({ length: 20 }, (_, i) => `key:${29 - i}`));
  });

  it('remembers the 200 keys that were acquired last', () => {
    const process = new Process();
    process.acquire('first');
    process.acquire('second');
    for (let i = 0; i < 198; i++) process.acquire(`key:${i}`);
    process.acquire('first');
    expect(process.keys('second')).toEqual(['second']);
    process.acquire('one more');
    expect(process.keys('second')).toEqual([]);
    expect(process.keys('first')).toEqual(['first', 'first']);
  });
});
