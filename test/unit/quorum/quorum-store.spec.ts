import { NOT_HELD, passing, RELEASED, REQUEST, settled } from '../engine/support.js';
import { given, Quorum, RELEASE, watch, type Watched } from './support.js';
import type { ReleaseReply, RenewReply } from '../../../lib/store/lock-store.js';

const quorumOf = (count: number): Promise<Quorum> => new Quorum(count).start();

describe('a release over several masters', () => {
  async function release(count = 3): Promise<{ quorum: Quorum; answer: Watched<ReleaseReply> }> {
    const quorum = await quorumOf(count);
    await quorum.hold();
    const answer = watch(quorum.store.release(RELEASE));
    return { quorum, answer };
  }

  it('reports a lost lock only if a majority did not have it', async () => {
    const { quorum, answer } = await release();
    quorum.members[0].releases[0]!.reply.resolve(NOT_HELD);
    quorum.members[1].releases[0]!.reply.resolve(NOT_HELD);
    await settled();
    expect(answer.value).toMatchObject({ released: false });
  });

  it('waits only briefly for a third master that does not answer', async () => {
    const { quorum, answer } = await release();
    quorum.members[0].releases[0]!.reply.resolve(NOT_HELD);
    quorum.members[1].releases[0]!.reply.resolve(RELEASED);
    await quorum.clock.pass(9);
    expect(answer.value).toBeUndefined();
    await quorum.clock.pass(2);
    expect(answer.value).toMatchObject({ released: true });
  });

  it('leaves a tombstone on a master that may still execute a request without a reply', async () => {
    const [quorum, answer, silent, ...others] = await Quorum.asked(3);
    silent.acquired.reply.reject(passing());
    for (const member of others) member.holds();
    await answer.promise;
    void quorum.store.release(RELEASE).catch(() => undefined);
    const tombstones = quorum.members.map(({ releases }) => releases[0]!.request.tombstoneFor);
    expect(tombstones).toEqual([1_000, 0, 0]);
  });

  it('leaves no timer when the next request has its answer', async () => {
    const quorum = await new Quorum(3).start();
    await quorum.hold();
    const answer = quorum.store.release({ ...RELEASE, next: { ...REQUEST, id: 'me:2' } });
    for (const member of quorum.members) member.regrants();
    await expect(answer).resolves.toMatchObject({ released: true, next: { outcome: 'held' } });
    expect(quorum.clock.timers.size).toBe(0);
  });

  it('fails if a majority fails, without waiting for the rest', async () => {
    const { quorum, answer } = await release(5);
    for (const member of quorum.members.slice(0, 3)) member.releases[0]!.reply.reject(passing());
    await settled();
    expect(answer.error).toMatchObject({ code: 'LOCK_STORE', transient: true });
  });
});

describe('a renewal over several masters', () => {
  const FAILED = expect.objectContaining({ code: 'LOCK_STORE', transient: true });
  const cases: Array<[string, Array<RenewReply | undefined>, unknown]> = [
    ['is what a majority has at least', [900, 1_000, undefined], 900],
    ['is not shortened by the master that has least', [1_000, 'not-held', 1_000], 1_000],
    ['does not depend on a master that fails', [800, passing(), 700], 700],
    ['is gone when so many say so that there is no majority', ['not-held', 'not-held', undefined], 'not-held'],
    ['is an error if the outcome is unknown', [900, passing(), 'not-held'], FAILED],
  ];
  for (const [what, replies, expected] of cases) {
    it(what, async () => {
      const quorum = await quorumOf(3);
      const answer = watch(quorum.store.renew([{ key: 'a', id: 'me:1', lease: 1_000 }]));
      replies.forEach((reply, i) => {
        if (reply !== undefined) quorum.members[i]!.renewals[0]!.reply.resolve([reply]);
      });
      await settled();
      expect(answer.value).toEqual([expected]);
    });
  }

  it('does not delay decided leases for a lease that a hanging master must decide', async () => {
    const quorum = await quorumOf(3);
    const requests = ['me:1', 'me:2'].map((id) => ({ key: 'a', id, lease: 1_000 }));
    const answer = watch(quorum.store.renew(requests));
    quorum.members[0].renewals[0]!.reply.resolve([900, 'not-held']);
    quorum.members[1].renewals[0]!.reply.resolve([900, 900]);
    await quorum.clock.pass(11);
    expect(answer.value).toEqual([900, expect.any(Error)]);
  });

  it('waits for a slow master if that must decide everything', async () => {
    const quorum = await quorumOf(3);
    const answer = watch(quorum.store.renew([{ key: 'a', id: 'me:1', lease: 1_000 }]));
    quorum.members[0].renewals[0]!.reply.resolve(['not-held']);
    quorum.members[1].renewals[0]!.reply.resolve([900]);
    await quorum.clock.pass(400);
    expect(answer.value).toBeUndefined();
    quorum.members[2].renewals[0]!.reply.resolve([500]);
    await settled();
    expect(answer.value).toEqual([500]);
  });
});

describe('messages and states of the masters', () => {
  it('revoke a hold once, when there is no majority any more', async () => {
    const quorum = await quorumOf(5);
    await quorum.hold();
    quorum.members[0].listener.revoked('me:1');
    expect(quorum.told).toEqual([]);
    for (const member of quorum.members.slice(1)) member.listener.revoked('me:1');
    expect(quorum.told).toEqual(['revoked me:1']);
  });

  it('combine listening, unreachable and epoch by majority', async () => {
    const quorum = await quorumOf(3);
    quorum.members[0].listening = false;
    quorum.members[0].unreachable = passing();
    quorum.members[0].epoch = 3;
    expect(quorum.store).toMatchObject({ listening: true, unreachable: undefined, epoch: 3 });
    quorum.members[1].listening = false;
    quorum.members[1].unreachable = passing();
    expect(quorum.store.listening).toBe(false);
    expect(quorum.store.unreachable).toMatchObject({
      transient: true,
      message: '1 of 3 masters answered, but 2 are needed: the connection is lost',
    });
  });

  it('exclude an unreachable master from requests, and an unsubscribed one from waiting', async () => {
    const quorum = await quorumOf(3);
    quorum.members[0].unreachable = passing();
    quorum.members[1].listening = false;
    await quorum.ask();
    expect(quorum.members.map(({ acquires }) => acquires.map(({ request }) => request.waits))).toEqual([
      [],
      [false],
      [true],
    ]);
  });
});

describe('membership', () => {
  it('counts each server once, and lifts the refusal at most a second after the server has changed', async () => {
    const quorum = new Quorum(3);
    for (const [i, runId] of ['one', 'two', 'one'].entries()) {
      quorum.members[i]!.identity = () => given({ runId, inCluster: false });
    }
    await expect(quorum.store.start()).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    expect((await quorum.ask()).error).toMatchObject({ code: 'LOCK_CONFIG' });
    expect(quorum.members.map(({ acquires }) => acquires.length)).toEqual([0, 0, 0]);
    // The first address was the wrong one.
    quorum.members[0].identity = () => given({ runId: 'three', inCluster: false });
    quorum.members[0].epoch += 1;
    quorum.members[0].listener.restored();
    await quorum.clock.pass(1_000);
    expect((await quorum.ask()).error).toMatchObject({ code: 'LOCK_CONFIG' });
    await settled();
    const answer = await quorum.ask({ id: 'me:2' });
    for (const member of quorum.members) member.holds();
    expect(await answer.promise).toMatchObject({ outcome: 'held' });
  });

  it('accepts no grant of a master that has not identified itself', async () => {
    const quorum = new Quorum(3);
    quorum.members[2].identity = () => Promise.reject(passing());
    const starting = quorum.store.start();
    await quorum.clock.pass(300);
    await starting;
    await quorum.ask();
    expect(quorum.members.map(({ acquires }) => acquires.length)).toEqual([1, 1, 0]);
  });
});
