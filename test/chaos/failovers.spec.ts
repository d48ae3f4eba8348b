import { check } from '../../lab/checker/check.mjs';
import { broken, ChaosStory, storyOf } from './story.js';

const LOST = 'master lost before replicating';

/** Two that held a key at the same time. */
const twoAtOnce = (details = ''): ChaosStory => storyOf(`a${details} 1000-1600 #1`, 'b 1500-1550 #2');
/** Two that did so long after a failover at 1.4 s, which clients knew then. */
const late = (to: number): ChaosStory =>
  storyOf('a asked=2500 2600-2900 #1', 'b asked=2690 2700-2750 #2').failover({ at: 1_400, told: 1_400, to });

/** The fault before a failover. */
function killed(story: ChaosStory, details: object = {}): number {
  return story.fault('master killed', {
    begin: 1_100,
    end: 1_450,
    strikes: 'server',
    server: 0,
    breaks: LOST,
    ...details,
  });
}

describe('a failover', () => {
  it.each([true, false])(
    'explains two overlapping holds, and names the fault before it, if there was one: %s',
    (was) => {
      const story = twoAtOnce();
      const fault = was ? killed(story) : 'none';
      story.failover({ at: 1_400 });
      expect(check(story.events)).toMatchObject({ violations: [], explained: [{ assumption: LOST, fault }] });
    },
  );

  it('explains a lock that was lost early', () => {
    const story = storyOf('a 1000-1300 until=1900 lost=1500 #1');
    expect(broken(story)).toEqual(['validity']);
    expect(broken(story.failover({ at: 1_400 }))).toEqual([]);
  });

  it.each<[string, (story: ChaosStory) => unknown]>([
    ['there was none, though there was to be one', (story) => killed(story)],
    ['it came after the second caller received its grant', (story) => story.failover({ at: 1_700, to: 1_800 })],
    ['it was over before the first had asked', (story) => story.failover({ at: 900, to: 950 })],
    ['it was of other keys', (story) => story.failover({ at: 1_400, keys: ['other'] })],
    [
      'the old master had waited for its replica',
      (story) => {
        killed(story, { breaks: undefined, lossless: true });
        story.failover({ at: 1_400 });
      },
    ],
  ])('explains nothing when %s', (_, happens) => {
    const story = twoAtOnce();
    happens(story);
    expect(broken(story)).toEqual(['exclusion']);
  });

  it('does not explain decreasing tokens', () => {
    const story = storyOf('a 1000-1100 #9', 'b 1500-1550 #8');
    expect(broken(story.failover({ at: 1_300 }))).toContain('tokens');
  });
});

describe('a hold that a replica has confirmed', () => {
  it('is not lost: no other client may hold the key during its first lease', () => {
    const story = twoAtOnce(' replicas=1 until=1600');
    killed(story);
    expect(broken(story.failover({ at: 1_400 }))).toEqual(['exclusion']);
  });

  it('may be lost if only an unconfirmed renewal made it last so long', () => {
    const story = new ChaosStory();
    const op = story.hold('a.1', { from: 1_300, to: 1_600, askedAt: 990, until: 1_800, replicas: 1, token: 1 });
    story.event(1_000, 'look', { client: 'a.1', op, held: true, until: 1_450 });
    story.hold('b.1', { from: 1_500, to: 1_550, token: 2 });
    killed(story);
    const { violations, explained } = check(story.failover({ at: 1_400 }).events);
    expect([violations, explained]).toMatchObject([[], [{ assumption: LOST }]]);
  });

  it('is lost with the data of all servers', () => {
    const story = twoAtOnce(' replicas=1');
    story.fault('all deleted', { begin: 1_400, breaks: 'data deleted' });
    expect(broken(story)).toEqual([]);
  });
});

describe('an old master that still acknowledges writes', () => {
  it('does not explain clients that knew the new master for long', () => {
    expect(broken(late(9_000))).toEqual(['exclusion']);
  });

  it.each([
    ['network gone', { client: 'a' }],
    ['sentinel restarted', { strikes: 'sentinel' }],
  ])('explains clients that could not know the new master (%s)', (kind, whom) => {
    const deaf = late(9_000);
    deaf.fault(kind, { begin: 1_300, end: 1_900, ...whom });
    expect(broken(deaf)).toEqual([]);
  });
});

describe('a client of Redisson and an old master that still acknowledges writes', () => {
  it.each([
    ['a.1', 'may', 'acknowledges writes, whenever it learned of the new one', 9_000, []],
    ['b.1', 'may', 'acknowledges writes, whenever it learned of the new one', 9_000, []],
    ['a.1', 'may not', 'is a replica', 2_490, ['exclusion']],
    ['b.1', 'may not', 'is a replica', 2_680, ['exclusion']],
  ])('%s %s acquire a lock when the old master %s', (client, _may, _when, to, rules) => {
    expect(broken(late(to).event(500, 'up', { client, library: 'redisson' }))).toEqual(rules);
  });

  it('does not excuse a hold of a client here that asked when it knew the new master', () => {
    const both = late(9_000);
    for (const client of ['j.1', 'j.2']) both.event(500, 'up', { client, library: 'redisson' });
    expect(broken(both)).toEqual(['exclusion']);
  });
});

describe('a holder that is connected to the new master of a Sentinel', () => {
  const connected = (pulse: object, overlap = 2_800): ChaosStory => {
    const story = storyOf('a 1000-2900 #1', `b asked=${overlap - 10} ${overlap}-${overlap + 50} #2`);
    story.failover({ at: 1_400, told: 1_400, to: 5_000 });
    return story.event(2_450, 'pulse', { client: 'a.1', from: 2_440, ok: true, ...pulse });
  };

  it('has verified its lock: then no other client may hold it', () => {
    expect(broken(connected({}))).toEqual(['exclusion']);
  });

  it.each<[string, ChaosStory]>([
    ['an answer may be on its way', connected({}, 2_700)],
    ['it had no lock of it yet', connected({ ok: false })],
    ['it may have asked the old one', connected({ from: 2_300 })],
    ['its client did not run', connected({}).event(2_700, 'stall', { client: 'a.1', from: 2_500, to: 2_700 })],
  ])('is explained if %s', (_, story) => {
    expect(broken(story)).toEqual([]);
  });
});

it("the members of a batch share the time of their grant's request, even if the grant was lost", () => {
  const story = storyOf('a 1000-1420 #100', 'a asked=1460 1470-1600 #101', 'b 1500-1550 #200');
  expect(broken(story)).toEqual(['exclusion']);
  expect(broken(story.failover({ at: 1_400 }))).toEqual([]);
});

it('finds a client that is not served for too long, at any time', () => {
  const story = new ChaosStory();
  for (let at = 1_000; at < 40_000; at += 100) {
    story.event(at, 'pulse', { client: 'a.1', from: at - 20, ok: at < 5_000 || at > 22_000 });
  }
  expect(broken(story)).toEqual(['service']);
  expect(broken(story.event(20_000, 'stall', { client: 'a.1', from: 6_000, to: 10_000 }))).toEqual([]);
});
