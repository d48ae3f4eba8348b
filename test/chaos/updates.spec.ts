import { check } from '../../lab/checker/check.mjs';
import { broken, ChaosStory, type StoryHold } from './story.js';

/** Holders that write a counter, each after the other unless its times say otherwise. */
class CounterStory extends ChaosStory {
  private tokens = 0;

  /** A holder writes `value` at `at`, and its process notes the end of the write later, or never. */
  add(client: string, at: number, value: number, { ended = at + 1, ...hold }: AddDetails = {}): this {
    const op = this.hold(client, { token: ++this.tokens, from: at - 10, to: at + 5, ...hold });
    this.event(at, 'update', { client, op, key: 'stock', phase: 'begin', value });
    return ended === null ? this : this.event(ended, 'update', { client, op, key: 'stock', phase: 'end' });
  }
}

interface AddDetails extends Partial<Omit<StoryHold, 'token'>> {
  readonly ended?: number | null;
}

describe('the counters of exclusive holders', () => {
  it('each holder writes one more than the holder before', () => {
    expect(broken(new CounterStory().add('a.1', 20, 1).add('b.1', 40, 2).add('a.1', 60, 3))).toEqual([]);
  });

  it('an update is lost if two holders write the same value, and reported once', () => {
    const story = new CounterStory().add('a.1', 20, 1).add('b.1', 40, 1).add('a.1', 60, 2).add('b.1', 80, 3);
    expect(broken(story)).toEqual(['updates']);
  });

  it('a fault that explains two holders explains the lost update', () => {
    const story = new CounterStory().add('a.1', 20, 1, { to: 60 }).add('b.1', 50, 1);
    story.fault('all deleted', { begin: 30, breaks: 'data deleted' });
    const { violations, explained } = check(story.events);
    expect(violations).toEqual([]);
    expect(explained.map(({ rule }) => rule)).toEqual(['exclusion', 'updates']);
  });

  it('a holder that was stopped before its write may spoil the counter, but only then', () => {
    const story = new CounterStory()
      .add('a.1', 20, 1)
      .add('b.1', 40, 2, { until: 60, end: { lostAt: 100 }, ended: 90 })
      .add('a.1', 80, 2)
      .add('c.1', 120, 2)
      .add('a.1', 140, 3);
    expect(broken(story)).toEqual([]);
    expect(broken(story.add('b.1', 160, 3))).toEqual(['updates']);
  });

  it('a process that was killed may or may not have written', () => {
    const story = new CounterStory()
      .add('a.1', 20, 1)
      .add('b.1', 40, 2, { until: 60, end: 'killed', ended: null })
      .add('a.1', 80, 2);
    expect(broken(story)).toEqual([]);
    expect(broken(story.add('c.1', 120, 2))).toEqual(['updates']);
  });
});

it('a client of another library may take as long as its own timeouts do', () => {
  const story = new ChaosStory();
  const late = story.ask('j.1', { at: 10, wait: 100, slack: 15_000 });
  story.event(14_000, 'fail', { op: late, code: 'LOCK_TIMEOUT' });
  expect(broken(story)).toEqual([]);
  const later = story.ask('j.1', { at: 20, wait: 100, slack: 15_000 });
  story.event(15_200, 'fail', { op: later, code: 'LOCK_TIMEOUT' });
  expect(broken(story)).toEqual(['waiting']);
});
