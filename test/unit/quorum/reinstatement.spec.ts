import type { RenewReply } from '../../../lib/store/lock-store.js';
import { passing, RELEASED, settled } from '../engine/support.js';
import { given, Quorum, RELEASE } from './support.js';

/** A hold that all masters have, and a renewal of it with these answers. */
async function renewed(...replies: RenewReply[]): Promise<Quorum> {
  const quorum = await new Quorum(replies.length).start();
  await quorum.hold();
  await renew(quorum, ...replies);
  return quorum;
}

const renew = (quorum: Quorum, ...replies: RenewReply[]): Promise<void> => renewOf('me:1', quorum, ...replies);

async function renewOf(id: string, quorum: Quorum, ...replies: RenewReply[]): Promise<void> {
  const renewal = quorum.store.renew([{ key: 'a', id, lease: 10_000 }]);
  await answer(quorum, renewal, ...replies);
}

async function answer(quorum: Quorum, renewal: Promise<unknown>, ...replies: RenewReply[]): Promise<void> {
  replies.forEach((reply, i) => quorum.members[i]!.renewals.at(-1)!.reply.resolve([reply]));
  await renewal;
  await settled();
}

/** The leases with which each master was asked to take a vote again; 0: it was looked at. */
const leases = (quorum: Quorum): number[][] =>
  quorum.members.map(({ reinstated }) => reinstated.map(({ lease }) => lease));

describe('a hold that some masters no longer know', () => {
  it('reinstates its vote there, with its token and no longer than its lease', async () => {
    const quorum = await renewed('not-held', 8_000, 9_000);
    expect(leases(quorum)).toEqual([[0, 10_000], [], []]);
    expect(quorum.members[0].reinstated[1]).toMatchObject({
      id: 'me:1',
      mode: { kind: 'exclusive' },
      token: 1,
      batchSize: 1,
    });
  });

  it('reinstates none if no majority has confirmed it', async () => {
    expect(leases(await renewed('not-held', 'not-held', 9_000))).toEqual([[], [], []]);
    expect(leases(await renewed('not-held', passing(), 9_000))).toEqual([[], [], []]);
  });

  it('reinstates none if a forced release is known, now or later', async () => {
    const quorum = await new Quorum(5).start();
    await quorum.hold();
    quorum.members[1].reinstateReply = () => given('left');
    await renew(quorum, 'not-held', 'not-held', 9_000, 9_000, 9_000);
    expect(leases(quorum)).toEqual([[0], [0], [], [], []]);
    await renew(quorum, 'not-held', 9_000, 9_000, 9_000, 9_000);
    expect(leases(quorum)).toEqual([[0], [0], [], [], []]);
  });

  it('reinstates none after a forced release although another master has not answered yet', async () => {
    const quorum = await new Quorum(5).start();
    await quorum.hold();
    quorum.members[0].reinstateReply = () => new Promise(() => undefined);
    quorum.members[1].reinstateReply = () => given('left');
    await renew(quorum, 'not-held', 'not-held', 9_000, 9_000, 9_000);
    await renew(quorum, 9_000, 9_000, 'not-held', 9_000, 9_000);
    expect(leases(quorum)).toEqual([[0], [0], [], [], []]);
  });

  it("reinstates none after a master's message that it was ended by force", async () => {
    const quorum = await new Quorum(3).start();
    await quorum.hold();
    quorum.members[0].listener.revoked('me:1');
    await renew(quorum, 'not-held', 9_000, 9_000);
    expect(leases(quorum)).toEqual([[], [], []]);
  });

  it('reinstates none if it has been released in the meantime', async () => {
    const quorum = await new Quorum(3).start();
    await quorum.hold();
    const renewal = quorum.store.renew([{ key: 'a', id: 'me:1', lease: 10_000 }]);
    void quorum.store.release(RELEASE);
    await answer(quorum, renewal, 'not-held', 9_000, 9_000);
    expect(leases(quorum)).toEqual([[], [], []]);
    for (const { releases } of quorum.members) releases[0]!.reply.resolve(RELEASED);
  });

  it('leaves a tombstone with its release if a vote is pending', async () => {
    const quorum = await new Quorum(3).start();
    await quorum.hold();
    const [under, failed] = quorum.members;
    under.reinstateReply = ({ lease }) => (lease > 0 ? new Promise(() => undefined) : given('missing'));
    await renew(quorum, 'not-held', 9_000, 9_000);
    void quorum.store.release(RELEASE);
    expect(quorum.members.map(({ releases }) => releases[0]!.request.tombstoneFor)).toEqual([1_000, 0, 0]);

    await quorum.hold({ id: 'me:2' });
    failed.reinstateReply = ({ lease }) => (lease > 0 ? Promise.reject(passing()) : given('missing'));
    await renewOf('me:2', quorum, 9_000, 'not-held', 9_000);
    void quorum.store.release({ ...RELEASE, id: 'me:2' });
    expect(quorum.members.map(({ releases }) => releases[1]!.request.tombstoneFor)).toEqual([0, 1_000, 0]);
  });
});
