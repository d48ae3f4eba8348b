import { Releases } from '../../../lib/engine/releases.js';
import { contextOf, FakeStore, passing, FakeClock, settled } from './support.js';

/** A leave of a lock that the store may keep for a minute. */
function setUp() {
  const clock = new FakeClock();
  const store = new FakeStore();
  new Releases(contextOf(store, clock)).leave('a', 'me:1', 0, clock.now() + 60_000);
  const fail = async (): Promise<void> => {
    store.releases.at(-1)!.reply.reject(passing());
    await settled();
  };
  return { clock, store, fail };
}

describe('a leave that fails', () => {
  it('is sent again for as long as the store may keep the lock', async () => {
    const { clock, store, fail } = setUp();
    for (let sent = 1; sent <= 5; sent += 1) {
      expect(store.releases).toHaveLength(sent);
      clock.advance(10_000);
      await fail();
      clock.advance(250);
    }
    clock.advance(10_000);
    await fail();
    clock.advance(60_000);
    expect(store.releases).toHaveLength(6);
  });

  it('is not sent again while the store cannot be reached, and then at once', async () => {
    const { clock, store, fail } = setUp();
    store.unreachable = passing();
    await fail();
    clock.advance(30_000);
    expect(store.releases).toHaveLength(1);
    store.unreachable = undefined;
    clock.advance(1_000);
    expect(store.releases).toHaveLength(2);
  });

  it('is sent a last time if the store cannot be reached until the lease has ended', async () => {
    const { clock, store, fail } = setUp();
    store.unreachable = passing();
    await fail();
    clock.advance(62_000);
    await fail();
    clock.advance(60_000);
    expect(store.releases).toHaveLength(2);
  });
});
