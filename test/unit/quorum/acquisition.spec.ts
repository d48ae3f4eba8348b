import { precedes } from '../../../lib/store/quorum/split-votes.js';
import type { FenceReply } from '../../../lib/store/quorum-member.js';
import { lasting, passing, settled, deferred } from '../engine/support.js';
import { Quorum, RELEASE } from './support.js';

/** Ids of other clients. */
const IDS = Array.from({ length: 50 }, (_, i) => `other:${i}`);
/** Comes before the acquisitions of the tests, in the order of `precedes`. */
const FIRST = IDS.find((id) => precedes(id, 'me:1') && precedes(id, 'me:2'))!;
/** Comes after them. */
const LAST = IDS.find((id) => precedes('me:1', id) && precedes('me:2', id))!;

const quorumOf = (count: number, random?: () => number): Promise<Quorum> => new Quorum(count, random).start();
const { asked } = Quorum;

/** An acquisition over three masters, of which the first grants it and each other one has granted another request. */
async function splitVote() {
  const [quorum, answer, a, b, c] = await asked(3);
  a.holds();
  b.contends({ holders: [LAST] });
  c.contends({ holders: ['other:1'] });
  return { quorum, answer };
}

describe('an acquisition over several masters', () => {
  it('does not wait for a master that does not accept the token if a third one has granted in the meantime', async () => {
    const quorum = await quorumOf(3);
    const [hanging, prompt, late] = quorum.members;
    hanging.fenceReply = () => new Promise(() => undefined);
    const answer = await quorum.ask();
    hanging.holds(3);
    prompt.holds(5);
    await quorum.clock.pass(5);
    expect(answer.value).toBeUndefined();
    late.holds(4);
    await settled();
    expect(answer.value).toMatchObject({ outcome: 'held', token: 5 });
    expect(late.fences.map(({ token }) => token)).toEqual([5]);
  });

  it('does not wait for the token of a lost master if the others are no majority', async () => {
    const quorum = await quorumOf(3);
    const [lost, prompt, late] = quorum.members;
    lost.fenceReply = () => new Promise(() => undefined);
    const answer = await quorum.ask();
    lost.holds(3);
    prompt.holds(5);
    late.contends({ holders: ['other:1'] });
    await settled();
    lost.epoch += 1;
    await quorum.clock.pass(20);
    // It is asked anew, with what its new connection has to say.
    expect(lost.acquires).toHaveLength(2);
    lost.fenceReply = async () => ({ outcome: 'written', lease: 10_000 });
    lost.holds(3);
    await expect(answer.promise).resolves.toMatchObject({ outcome: 'held', token: 5 });
  });

  it('has the lease of its majority, counted from the sending of the answered requests', async () => {
    const [quorum, answer] = await asked(3);
    await quorum.clock.pass(100);
    quorum.members[0].holds(1, 10_000);
    quorum.members[1].holds(1, 9_000);
    expect(await answer.promise).toMatchObject({ lease: 9_000 });
  });

  it('has no longer lease if the token takes longer to write than the grant took', async () => {
    const quorum = await quorumOf(3);
    const [first, second] = quorum.members;
    const written = deferred<FenceReply>();
    for (const member of [first, second]) member.fenceReply = () => written;
    const answer = await quorum.ask();
    await quorum.clock.pass(100);
    first.holds(1, 10_000);
    second.holds(1, 10_000);
    await quorum.clock.pass(200);
    // From when the masters executed it.
    written.resolve({ outcome: 'written', lease: 9_900 });
    expect(await answer.promise).toMatchObject({ outcome: 'held', lease: 10_000 });
  });

  it('counts a later request from when it was sent', async () => {
    const quorum = await quorumOf(3);
    const first = await quorum.ask();
    for (const member of quorum.members) member.contends();
    expect(await first.promise).toMatchObject({ outcome: 'queued', retryAfter: 1_000 });
    await quorum.clock.pass(1_000);
    const second = await quorum.ask();
    await quorum.clock.pass(50);
    for (const member of quorum.members) member.holds();
    expect(await second.promise).toMatchObject({ outcome: 'held', lease: 10_000 });
  });

  it('is not held if its leases have ended when the replies arrive', async () => {
    const [quorum, answer] = await asked(3, { waits: false, lease: 100 });
    await quorum.clock.pass(101);
    for (const member of quorum.members) member.holds(1, 100);
    await settled();
    expect(answer.error).toMatchObject({ code: 'LOCK_STORE', transient: true });
    expect(quorum.members.map(({ releases }) => releases.length)).toEqual([1, 1, 1]);
  });

  it('fails if too many masters fail, and releases its votes', async () => {
    const [, answer, a, b, c, d, e] = await asked(5, { waits: false });
    a.holds();
    b.acquired.reply.reject(passing());
    c.acquired.reply.reject(passing());
    await settled();
    expect(answer.error).toBeUndefined();
    d.acquired.reply.reject(passing());
    await settled();
    expect(answer.error).toMatchObject({
      transient: true,
      message: '1 of 5 masters answered, but 3 are needed: the connection is lost',
    });
    expect(a.releases).toHaveLength(1);
    // A grant that arrives late is released as well.
    e.holds();
    await settled();
    expect(e.releases).toHaveLength(1);
  });

  it.each(['before', 'after'])('leaves no ticket if a majority refuses it %s the other reply', async (order) => {
    const [quorum, answer, a, b, queueing] = await asked(3, { owner: 'me' });
    const refuse = (): void => {
      for (const member of [a, b]) member.acquired.reply.resolve({ outcome: 'upgrade', time: 0 });
    };
    if (order === 'before') {
      refuse();
      await quorum.clock.pass(200);
    }
    queueing.contends({ holders: ['other:1'] });
    await settled();
    if (order === 'after') refuse();
    await expect(answer.promise).resolves.toMatchObject({ outcome: 'upgrade' });
    await settled();
    expect(queueing.releases.map(({ request }) => request.id)).toEqual(['me:1']);
  });

  it('does not retry permanent failures', async () => {
    const [quorum, answer] = await asked(3);
    for (const member of quorum.members) member.acquired.reply.reject(lasting());
    await settled();
    expect(answer.error).toMatchObject({ transient: false });
  });

  it('releases a minority at once if another acquisition has a majority, and keeps its places', async () => {
    const [, answer, a, b, c] = await asked(3);
    a.holds();
    b.contends({ holders: ['other:1'] });
    c.contends({ holders: ['other:1'], retryAfter: 700 });
    await settled();
    expect(answer.value).toMatchObject({ outcome: 'queued', retryAfter: 700, holders: ['other:1'] });
    expect(a.releases.map(({ request }) => request)).toMatchObject([{ id: 'me:1', next: undefined }]);
    expect([b, c].map((member) => member.releases)).toEqual([[], []]);
  });

  it('lets the queues decide a split vote of 2, 2 and 1 after a pause', async () => {
    const [quorum, answer, a, b, c, d, e] = await asked(5);
    a.holds(1);
    b.holds(2);
    c.contends({ holders: ['other:1'] });
    d.contends({ holders: ['other:1'] });
    e.contends({ holders: ['third:1'] });
    await settled();
    expect(a.releases).toHaveLength(0);
    await quorum.clock.pass(20);
    // Released and requested in one step: the earliest request gets it, by an age that is the same everywhere.
    expect(a.releases[0]!.request).toMatchObject({ id: 'me:1', tombstoneFor: 0, next: { id: 'me:1', waits: true } });
    const ages = [a.releases[0]!.request.next!.age, c.acquired.request.age];
    expect(ages[0]).toBe(ages[1]);
    for (const member of [a, b]) {
      member.regrants();
    }
    e.holds(4);
    await expect(answer.promise).resolves.toMatchObject({ outcome: 'held', token: 9 });
  });

  it('does not count a master whose connection was lost during a release', async () => {
    const { quorum, answer } = await splitVote();
    const [a, b, c] = quorum.members;
    await quorum.clock.pass(20);
    // The release is sent again on the next connection, and its first copy may come behind all that is asked from now on.
    a.epoch += 1;
    a.regrants();
    await settled();
    expect(a.releases.at(-1)!.request).toMatchObject({ id: 'me:1', tombstoneFor: 1_000, next: undefined });
    b.holds(4);
    await quorum.clock.pass(200);
    expect(answer.value).toBeUndefined();
    expect(a.acquires).toHaveLength(1);
    c.holds(5);
    await expect(answer.promise).resolves.toMatchObject({ outcome: 'held', token: 5 });
    expect(a.fences).toHaveLength(0);
  });

  it('pauses for half a round trip, and falls behind a rival that comes first before it releases its vote', async () => {
    const quorum = await quorumOf(3);
    await quorum.ask();
    const [a, b, c] = quorum.members;
    await quorum.clock.pass(80);
    a.holds();
    for (const member of [b, c]) member.contends({ holders: [FIRST] });
    await settled();
    // A majority would be held. Two rivals split it.
    expect(a.releases).toHaveLength(1);

    const split = await quorum.ask({ id: 'me:2', key: 'b' });
    await quorum.clock.pass(80);
    a.holds();
    b.contends({ holders: [FIRST] });
    c.contends({ holders: ['third:1'] });
    await settled();
    expect([b, c].map((member) => member.acquired.request)).toMatchObject([
      { id: 'me:2', backedOff: true },
      { id: 'me:2', backedOff: true },
    ]);
    expect(a.releases).toHaveLength(1);
    await quorum.clock.pass(39);
    expect(a.releases).toHaveLength(1);
    await quorum.clock.pass(10);
    expect(a.releases[1]!.request.next).toMatchObject({ id: 'me:2', backedOff: true });
    expect(split.value).toBeUndefined();
  });

  it('releases its votes to a rival that comes first, if the queues have returned them', async () => {
    const [quorum, answer, a, b, c, d] = await asked(4);
    for (const member of [a, b]) member.holds();
    for (const member of [c, d]) member.contends({ holders: [FIRST] });
    await quorum.clock.pass(8);
    // The rival waits in no queue.
    for (const member of [a, b]) member.regrants();
    await settled();
    for (const member of [c, d]) member.contends({ holders: [FIRST] });
    await settled();
    for (const member of [a, b]) {
      expect(member.releases.map(({ request }) => request.next?.id ?? 'released')).toEqual(['me:1', 'released']);
    }
    // It has the whole pause for its request.
    await quorum.clock.pass(16);
    expect(a.acquires).toHaveLength(1);
    await quorum.clock.pass(4);
    for (const member of quorum.members) member.contends({ holders: [FIRST] });
    await settled();
    expect(answer.value).toMatchObject({ outcome: 'queued', isSplit: false });
  });

  it('reports a split vote that was not resolved as split, and a rival with a majority as held', async () => {
    const { quorum, answer } = await splitVote();
    const [a, b, c] = quorum.members;
    for (let i = 0; i < 6 && answer.value === undefined; i += 1) {
      await quorum.clock.pass(70);
      a.regrants();
      await settled();
      b.contends({ holders: [LAST] });
      c.contends({ holders: ['other:1'] });
      await settled();
    }
    expect(answer.value).toMatchObject({ outcome: 'queued', isSplit: true });
    const second = await quorum.ask({ id: 'me:2' });
    for (const member of quorum.members) member.contends({ holders: ['other:1'] });
    expect(await second.promise).toMatchObject({ outcome: 'queued', isSplit: false });
  });

  it('does not lose a vote if a request from before the subscription fails late', async () => {
    const quorum = await quorumOf(3);
    const [a, b, c] = quorum.members;
    for (const member of [a, b]) member.listening = false;
    const early = await quorum.ask();
    const [lost] = c.acquires;
    a.contends({ outcome: 'busy' });
    b.contends({ outcome: 'busy' });
    await quorum.clock.pass(200);
    await expect(early.promise).resolves.toMatchObject({ outcome: 'busy' });
    for (const member of [a, b]) member.listening = true;
    const answer = await quorum.ask();
    for (const member of quorum.members) member.holds();
    await settled();
    lost!.reply.reject(passing());
    await expect(answer.promise).resolves.toMatchObject({ outcome: 'held' });
    await quorum.clock.pass(500);
    expect(quorum.members.map(({ releases }) => releases.length)).toEqual([0, 0, 0]);
  });

  it('ends a split vote by a pushed grant in the pause', async () => {
    const { quorum, answer } = await splitVote();
    const [a, b] = quorum.members;
    await settled();
    b.pushes('me:1');
    expect(b.acquires).toHaveLength(2);
    b.holds(5);
    await expect(answer.promise).resolves.toMatchObject({ outcome: 'held', token: 5 });
    expect(a.releases).toHaveLength(0);
  });

  describe('that does not wait, in a split vote', () => {
    const [first, second] = IDS.filter((id) => precedes(id, 'me:1'));
    const [last, lastToo] = IDS.filter((id) => !precedes(id, 'me:1'));

    async function split(holders: readonly string[], roundTrip = 0) {
      const [quorum, answer] = await asked(3, { waits: false });
      await quorum.clock.pass(roundTrip);
      const [a, b, c] = quorum.members;
      a.holds();
      b.contends({ outcome: 'busy', holders: [holders[0]!] });
      c.contends({ outcome: 'busy', holders: [holders[1]!] });
      await settled();
      return { quorum, answer, members: [a, b, c] as const };
    }

    it('keeps its vote if it comes first, and requests the others after their release', async () => {
      const { quorum, answer, members } = await split([last!, lastToo!], 80);
      const [a, b, c] = members;
      expect(a.releases).toHaveLength(0);
      await quorum.clock.pass(15);
      expect([a, b, c].map(({ acquires }) => acquires.length)).toEqual([1, 1, 1]);
      // A part of the round trip later.
      await quorum.clock.pass(10);
      expect([a, b, c].map(({ acquires }) => acquires.length)).toEqual([1, 2, 2]);
      b.holds(7);
      await expect(answer.promise).resolves.toMatchObject({ outcome: 'held', token: 7 });
    });

    it('releases its vote at once to a rival that comes first, and looks again later', async () => {
      const { quorum, answer, members } = await split([first!, last!], 80);
      const [a, b, c] = members;
      expect(a.releases).toHaveLength(1);
      await quorum.clock.pass(2 * 80);
      expect(a.acquires).toHaveLength(1);
      await quorum.clock.pass(12);
      expect([a, b, c].map(({ acquires }) => acquires.length)).toEqual([2, 2, 2]);
      for (const member of [b, c]) member.contends({ outcome: 'busy', holders: [first!] });
      await settled();
      expect(answer.value).toMatchObject({ outcome: 'busy' });
    });

    it('keeps its vote after its rivals had their time, since they may have crashed', async () => {
      const { quorum, answer, members } = await split([first!, second!]);
      const [a, b, c] = members;
      expect(a.releases).toHaveLength(1);
      await quorum.clock.pass(12);
      a.holds();
      b.contends({ outcome: 'busy', holders: [first!] });
      await settled();
      c.holds(9);
      await expect(answer.promise).resolves.toMatchObject({ outcome: 'held', token: 9 });
      expect(a.releases).toHaveLength(1);
    });

    it('ends within some round trips', async () => {
      const { quorum, answer, members } = await split([last!, lastToo!]);
      const [a, b, c] = members;
      for (let ms = 0; ms < 50 && answer.value === undefined; ms += 2) {
        expect(a.releases).toHaveLength(0);
        await quorum.clock.pass(2);
        b.contends({ outcome: 'busy', holders: [last!] });
        c.contends({ outcome: 'busy', holders: [lastToo!] });
        await settled();
      }
      expect(b.acquires.length).toBeGreaterThan(5);
      expect(answer.value).toMatchObject({ outcome: 'busy' });
      expect(a.releases).toHaveLength(1);
    });

    it('ends at once if no holder of the other votes would release them', async () => {
      const [quorum, answer] = await asked(3, { waits: false });
      quorum.members[0].holds();
      for (const member of quorum.members.slice(1)) member.contends({ outcome: 'busy', holders: [] });
      await settled();
      expect(answer.value).toMatchObject({ outcome: 'busy' });
      expect(quorum.members[0].releases).toHaveLength(1);
    });
  });

  it('does not wait for a master that hangs in a split vote either', async () => {
    const quorum = await quorumOf(3, () => 0);
    await quorum.ask();
    quorum.members[0].holds();
    quorum.members[1].contends({ holders: ['other:1'] });
    await quorum.clock.pass(9);
    expect(quorum.members[0].releases).toHaveLength(0);
    await quorum.clock.pass(5);
    expect(quorum.members[0].releases).toHaveLength(1);
  });

  it('does not rely on a pushed grant, and asks its master', async () => {
    const quorum = await quorumOf(3);
    const first = await quorum.ask();
    for (const member of quorum.members) member.contends();
    await first.promise;
    for (const member of quorum.members.slice(0, 2)) member.pushes('me:1');
    expect(quorum.told).toEqual(['ask me:1 in 0', 'ask me:1 in 0']);
    expect(quorum.members.map(({ acquires }) => acquires.length)).toEqual([2, 2, 1]);
    const second = await quorum.ask();
    expect(quorum.members.map(({ acquires }) => acquires.length)).toEqual([2, 2, 2]);
    quorum.members[0].holds(5);
    quorum.members[1].holds(6);
    expect(await second.promise).toMatchObject({ outcome: 'held', token: 6, lease: 10_000 });
  });

  it('widens a hold to a master that grants it later', async () => {
    const [quorum, answer, a, b, c] = await asked(3);
    a.holds(1);
    b.holds(2);
    c.contends({ holders: ['other:1'] });
    await answer.promise;
    c.pushes('me:1', 1);
    expect(c.renewals[0]!.request).toEqual([{ key: 'a', id: 'me:1', lease: 10_000 }]);
    // Once so that it remembers the token, and once for the hold.
    expect(c.fences).toMatchObject([{ token: 2 }, { token: 2 }]);
    expect(quorum.told).toEqual([]);
  });

  it('releases a pushed grant without a waiter', async () => {
    const quorum = await quorumOf(3);
    quorum.members[1].pushes('me:9');
    expect(quorum.members.map(({ releases }) => releases.length)).toEqual([0, 1, 0]);
  });

  it('takes a token that is larger than all earlier ones', async () => {
    const quorum = await quorumOf(3, () => 0);
    const [a, b, c] = quorum.members;
    b.fenceReply = async ({ token }) =>
      token > 40 ? { outcome: 'written', lease: 10_000 } : { outcome: 'refused', lease: 10_000, lastToken: 40 };
    c.fenceReply = async ({ token }) =>
      token > 30 ? { outcome: 'written', lease: 10_000 } : { outcome: 'refused', lease: 10_000, lastToken: 30 };
    const answer = await quorum.ask({ mode: { kind: 'read' } });
    for (const member of quorum.members) member.holds(7);
    expect(await answer.promise).toMatchObject({ outcome: 'held', token: 41 });
    expect(a.fences.at(-1)).toMatchObject({ token: 41 });
  });

  it('takes a token larger than the last one of a master that has not granted, and writes it there', async () => {
    const [, answer, a, b, c] = await asked(3);
    c.contends({ holders: ['other:1'], lastToken: 50 });
    await settled();
    a.holds(7);
    b.holds(8);
    expect(await answer.promise).toMatchObject({ outcome: 'held', token: 51 });
    expect(c.fences).toMatchObject([{ token: 51 }]);
  });

  it('ends if it is released while it is requested', async () => {
    const [quorum, answer] = await asked(3);
    quorum.members[0].holds();
    await settled();
    void quorum.store.release(RELEASE).catch(() => undefined);
    expect(await answer.promise).toMatchObject({ outcome: 'left' });
    // Where the request is still on its way it may come behind the release.
    expect(quorum.members.map(({ releases }) => releases[0]!.request.tombstoneFor)).toEqual([0, 1_000, 1_000]);
  });
});

const CLIENTS = ['4f1c', '9ab0', 'd377'];

describe('the precedence of acquisitions', () => {
  it('is a total order, the same for all clients', () => {
    const ids = CLIENTS.flatMap((client) => Array.from({ length: 30 }, (_, i) => `${client}:${i}`));
    const sorted = [...ids].sort((a, b) => (precedes(a, b) ? -1 : 1));
    for (let i = 0; i < sorted.length; i += 1) {
      for (let j = 0; j < sorted.length; j += 1) expect(precedes(sorted[i]!, sorted[j]!)).toBe(i < j);
    }
  });

  it('favours no client: each is first about as often', () => {
    const wins = new Map(CLIENTS.map((client) => [client, 0]));
    for (let i = 0; i < 3_000; i += 1) {
      const [first] = CLIENTS.map((client) => `${client}:${i}`).sort((a, b) => (precedes(a, b) ? -1 : 1));
      const client = first!.split(':')[0]!;
      wins.set(client, wins.get(client)! + 1);
    }
    for (const count of wins.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});
