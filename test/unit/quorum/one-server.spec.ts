import { precedes } from '../../../lib/store/quorum/split-votes.js';
import { NOT_HELD, passing, queued, RELEASED, settled } from '../engine/support.js';
import { given, Quorum, RELEASE, watch, type FakeMember } from './support.js';

/** An id that comes after `me:1`. */
const RIVAL = Array.from({ length: 50 }, (_, i) => `other:${i}`).find((id) => precedes('me:1', id))!;
const RUN_IDS = ['one', 'two', 'three'];

/** Three masters on separate servers. */
async function separate() {
  const quorum = new Quorum(3);
  quorum.members.forEach((member, i) => leadTo(member, RUN_IDS[i]!));
  await quorum.start();
  return { quorum, members: quorum.members };
}

function leadTo(member: FakeMember, runId: string): void {
  member.identity = () => given({ runId, inCluster: false });
}

/** The first address loses its connection after its reply. Then the second one leads to the first server. */
async function redirect([a, b]: readonly FakeMember[]): Promise<void> {
  await settled();
  a!.epoch += 1;
  a!.identity = () => new Promise(() => undefined);
  b!.epoch += 1;
  leadTo(b!, 'one');
}

describe('a server that replies by two addresses in one round', () => {
  it('counts once in a renewal', async () => {
    const { quorum, members } = await separate();
    const answer = watch(quorum.store.renew([{ key: 'a', id: 'me:1', lease: 1_000 }]));
    members[0].renewals[0]!.reply.resolve([1_000]);
    await redirect(members);
    members[1].renewals[0]!.reply.resolve([1_000]);
    members[2].renewals[0]!.reply.reject(passing());
    await settled();
    expect(answer.value).toMatchObject([{ code: 'LOCK_STORE', transient: true }]);
  });

  it('counts once in a release', async () => {
    const { quorum, members } = await separate();
    await quorum.hold();
    const answer = watch(quorum.store.release(RELEASE));
    members[0].releases[0]!.reply.resolve(NOT_HELD);
    await redirect(members);
    members[1].releases[0]!.reply.resolve(NOT_HELD);
    await settled();
    expect(answer.value).toBeUndefined();
    members[2].releases[0]!.reply.resolve(RELEASED);
    await quorum.clock.pass(20);
    expect(answer.value).toMatchObject({ released: true });
  });

  it('counts once among the votes of a rival', async () => {
    const { quorum, members } = await separate();
    await quorum.ask({ waits: false });
    const [a, b, c] = members;
    c.holds();
    const busy = queued({ outcome: 'busy', lastToken: 0, holders: [RIVAL] });
    a.acquired.reply.resolve(busy);
    await redirect(members);
    b.acquired.reply.resolve(busy);
    await settled();
    // One server is no majority: the rival comes last, so it releases its vote.
    expect(c.releases).toHaveLength(0);
  });

  it('does not count if its connection was lost again before it was checked', async () => {
    const { quorum, members } = await separate();
    const answer = watch(quorum.store.renew([{ key: 'a', id: 'me:1', lease: 1_000 }]));
    members[0].renewals[0]!.reply.resolve([1_000]);
    await settled();
    members[0].epoch += 1;
    members[1].epoch += 1;
    let identify = (_runId: string): void => undefined;
    members[1].identity = () => new Promise((resolve) => (identify = (runId) => resolve({ runId, inCluster: false })));
    members[1].renewals[0]!.reply.resolve([1_000]);
    await settled();
    // The reply came on the connection before this one.
    members[1].epoch += 1;
    identify('one');
    await settled();
    identify('two');
    members[2].renewals[0]!.reply.reject(passing());
    await settled();
    expect(answer.value).toMatchObject([{ code: 'LOCK_STORE', transient: true }]);
  });
});
