import type { Line, LineObserver, ServerAddress } from '../../../lib/store/redis/line.js';
import { Sentinels } from '../../../lib/store/redis/sentinels.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { settled } from '../../../lab/testbed/clocks/fake-clock.js';
import { FakeLine } from './support.js';

const AT = { host: '10.0.0.1', port: 26_379 };
const OLD = { host: '10.0.0.2', port: 6_379 };
const NEW = { host: '10.0.0.3', port: 6_379 };

/** A line whose opening the test decides. */
class OpeningLine extends FakeLine {
  override state: Line['state'] = 'opening';
  override readonly opened = deferred();

  accept(): void {
    this.state = 'ready';
    this.opened.resolve();
  }

  break(): void {
    this.state = 'ended';
    this.observer.ended?.(undefined);
  }
}

/**
 * Sentinels, of which one answers questions at once. The lines on which they announce a new master open when the test lets
 * them.
 */
function setUp(...silent: ServerAddress[]) {
  const state = { master: OLD, epoch: 1 };
  const watching: OpeningLine[] = [];
  const answer: Line['send'] = async (_command, word) => {
    const { master, epoch } = state;
    if (word === 'MASTER') return ['config-epoch', String(epoch)];
    return word === 'GET-MASTER-ADDR-BY-NAME' ? [master.host, String(master.port)] : [];
  };
  const open = (observer: LineObserver, at?: ServerAddress): Line => {
    const isSilent = silent.some((each) => each.host === at!.host);
    if (observer.message === undefined) return new FakeLine(observer, isSilent ? () => deferred() : answer);
    const line = new OpeningLine(observer, answer);
    watching.push(line);
    return line;
  };
  const options = { name: 'main', sentinels: [AT, ...silent], patience: 1_000 };
  const sentinels = new Sentinels({ silence: 60_000, open }, options);
  return { sentinels, state, watching };
}

it('a Sentinel whose connection is being made again is asked, since it may have announced a master meanwhile', async () => {
  const { sentinels, state, watching } = setUp();
  expect(await sentinels.find()).toEqual(OLD);
  await eventually(() => watching.length === 1);
  watching[0]!.accept();
  await eventually(() => watching[0]!.subscriptions.size === 1);
  watching[0]!.break();
  Object.assign(state, { master: NEW, epoch: 2 });
  await eventually(() => watching.length === 2);
  const caughtUp = sentinels.catchUp!();
  watching[1]!.accept();
  await caughtUp;
  expect(sentinels.master).toEqual(NEW);
  sentinels.close();
});

it('Sentinels that are being asked already are asked again, since their answers may be older than the announcement', async () => {
  const { sentinels, state } = setUp({ host: '10.0.0.4', port: 26_379 });
  const before = sentinels.find();
  // The first Sentinel has answered, and the time for the second one is not over.
  await settled();
  Object.assign(state, { master: NEW, epoch: 2 });
  await sentinels.catchUp!();
  await before;
  expect(sentinels.master).toEqual(NEW);
  sentinels.close();
});
