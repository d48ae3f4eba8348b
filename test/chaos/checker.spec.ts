import { check, type ChaosEvent } from '../../lab/checker/check.mjs';
import { excerpt } from '../../lab/chaos/report/excerpt.mjs';
import { print, summarise } from '../../lab/chaos/report/summary.mjs';
import { broken, ChaosStory, storyOf, type StoryHold } from './story.js';

describe('valid histories', () => {
  it.each<[string, ...string[]]>([
    ['one after the other', 'a 10-50 #1', 'b 51-90 #2'],
    ['two keys', 'a 10-50 #1', 'b key=other 20-60 #1'],
    ['readers together, whose tokens arrived in another order', 'a read 10-50 #2', 'b read 12-60 #1'],
    ['permits up to their number', 'a permits*2 10-50 #1', 'b permits*1 20-60 #2', 'c permits*2 51-70 #3'],
    ['one owner, whose second grant was reported first', 'a owner=ada 10-50 #2', 'b owner=ada asked=5 20-60 #1'],
    ['a holder that was killed, and the next one after its lease', 'a 10-50 until=150 killed #1', 'b 151-160 #2'],
    ['a stopped holder that noted its release after the next one', 'a 10-50 until=150 released=900 #1', 'b 151-160 #2'],
    ['a holder that noted its release late', 'a 10-50 until=900 released=500 #1', 'b 51-160 #2'],
  ])('%s', (_, ...holds) => {
    expect(check(storyOf(...holds).events)).toMatchObject({ violations: [], explained: [] });
  });

  it('a lease that its holder made shorter', () => {
    const story = storyOf('a 10-50 until=900 killed #1');
    story.event(50.05, 'extend', { op: 'a.1.1', lease: 100 });
    story.hold('b.1', { from: 150, to: 160, token: 2 });
    expect(broken(story)).toEqual([]);
  });
});

describe('exclusion', () => {
  it.each<[string, string, ...string[]]>([
    ['exclusion', 'two at once', 'a 10-50 #1', 'b 49-90 #2'],
    ['exclusion', 'one within the other', 'a 10-50 #1', 'b 20-30 #2'],
    ['exclusion', 'two names', 'a owner=ada 10-50 #1', 'b owner=grace 20-60 #2'],
    ['exclusion', 'before the lease of a killed holder has ended', 'a 10-50 until=150 killed #1', 'b 149-160 #2'],
    ['exclusion', 'before the lease of a stopped holder has ended', 'a 10-50 until=150 lost=300 #1', 'b 149-160 #2'],
    ['readers and writers', 'a writer among readers', 'a read 10-90 #1', 'b read 11-20 #2', 'c 30-40 #3'],
    ['readers and writers', 'a reader beside a writer', 'a 10-90 #1', 'b read 11-20 #2'],
    ['permits', 'one permit too many', 'a permits*2 10-50 #1', 'b permits*2 20-60 #2'],
    ['permits', 'a permit beside a reader', 'a permits 10-50 #1', 'b read 20-60 #2'],
  ])('%s: %s', (rule, _, ...holds) => {
    expect(broken(storyOf(...holds))).toEqual([rule]);
  });

  it('finds each of three overlapping holds, and reports it with its operations', () => {
    const story = storyOf('a 10-50 #1', 'b 20-60 #2', 'c 30-70 #3');
    expect(check(story.events).violations.map(({ operations }) => operations)).toEqual([
      ['a.1.1', 'b.1.2'],
      ['a.1.1', 'c.1.3'],
      ['b.1.2', 'c.1.3'],
    ]);
  });
});

describe('assumptions that were broken on purpose', () => {
  const twoAtOnce = (): ChaosStory => storyOf('a 100-300 #1', 'b 200-250 #2');

  it('name the violation that they explain', () => {
    const story = twoAtOnce();
    story.fault('queue deleted', { begin: 120 });
    const fault = story.fault('all deleted', { begin: 150, breaks: 'data deleted' });
    expect(check(story.events)).toMatchObject({
      violations: [],
      explained: [{ rule: 'exclusion', assumption: 'data deleted', fault }],
    });
  });

  it('explain a hold whose grant was reported after the next one', () => {
    const story = storyOf('a asked=90 210-300 #1', 'b asked=180 200-250 #2');
    story.fault('all deleted', { begin: 150, breaks: 'data deleted' });
    expect(check(story.events).violations).toEqual([]);
  });

  it.each([
    ['before the first had asked', { begin: 80, end: 90 }],
    ['after the second caller received its grant', { begin: 260 }],
    ['of another key', { begin: 150, key: 'other' }],
  ])('explain nothing if they happened %s', (_, when) => {
    const story = twoAtOnce();
    story.fault('state deleted', { ...when, breaks: 'data deleted' });
    expect(broken(story)).toEqual(['exclusion']);
  });

  it.each([
    ['what was held then', 1_150, [], undefined],
    ['a hold that was granted long after its arrival', 2_500, ['validity'], undefined],
    [
      'a hold that was granted long after, and reported late because the client did not run',
      2_500,
      [],
      { from: 1_300, to: 2_400 },
    ],
  ])('a repeated forced release explains %s', (_, from, rules, stall) => {
    const story = storyOf(`a asked=1050 ${from}-${from + 50} until=4000 lost #1`);
    const times = { begin: 1_100, active: 1_200, end: 3_000 };
    story.fault('forced release sent again', {
      ...times,
      breaks: 'force release',
      breaksUntil: 'active',
      key: 'stock',
    });
    if (stall !== undefined) story.event(2_400, 'stall', { client: 'a.1', ...stall });
    expect(broken(story)).toEqual(rules);
  });

  it('explain nothing else', () => {
    const story = storyOf('a 10-50 #5', 'b 200-250 #4');
    story.fault('all deleted', { begin: 150, breaks: 'data deleted' });
    expect(broken(story)).toContain('tokens');
  });
});

describe('tokens', () => {
  it.each<[string, ...string[]]>([
    ['fall', 'a 10-50 #2', 'b 60-90 #1'],
    ['stay', 'a 10-50 #2', 'b 60-90 #2'],
    ['fall among callers that had asked before', 'a 10-50 #2', 'b asked=3 60-90 #1'],
    ['fall below those of a holder long gone', 'a 10-50 #9', 'b read asked=5 60-90 #3', 'c read asked=95 100-110 #4'],
  ])('%s', (_, ...holds) => {
    expect(broken(storyOf(...holds))).toContain('tokens');
  });

  it('differ for a re-entry', () => {
    const story = new ChaosStory();
    const outer = story.hold('a.1', { from: 10, to: 50, token: 1 });
    const inner = story.ask('a.1', { at: 20, within: outer });
    story.granted(inner, { at: 21, client: 'a.1', owner: outer, tokens: { stock: 2 } });
    expect(broken(story)).toEqual(['tokens']);
  });
});

describe('the protected resource', () => {
  it.each<[string, at: number, tokens: [number, number], rules: string[]]>([
    ['refuses a late write with a smaller token', 80, [1, 2], []],
    ['must not accept a late write', 80, [2, 1], ['tokens', 'fencing']],
    ['must not refuse the holder', 20, [2, 1], ['tokens', 'fencing']],
  ])('%s', (_, at, [token, next], rules) => {
    const story = new ChaosStory();
    const first = story.hold('a.1', { from: 10, to: 50, token });
    const second = story.hold('b.1', { askedAt: 5, from: 60, to: 90, token: next });
    story.event(70, 'write', { client: 'b.1', op: second, key: 'stock', token: next });
    story.event(at, 'write', { client: 'a.1', op: first, key: 'stock', token });
    expect(broken(story).sort()).toEqual(rules.sort());
  });
});

describe('a waiter', () => {
  /** The rules that are broken if a waiter asks at 10 ms, and then something happens to it. */
  const afterAsking = (terms: object, ...happens: Array<[at: number, type: string, details?: object]>): string[] => {
    const story = new ChaosStory();
    const op = story.ask('a.1', { at: 10, ...terms });
    for (const [at, type, details] of happens) story.event(at, type, { client: 'a.1', op, ...details });
    return broken(story);
  };
  const timeout = { code: 'LOCK_TIMEOUT' };

  it('never gets a result', () => {
    expect(afterAsking({})).toEqual(['waiting']);
  });

  it('owes nothing after its process was killed', () => {
    expect(afterAsking({}, [20, 'down'], [20, 'info'])).toEqual([]);
  });

  it.each([
    [{}, 5_500, ['waiting']],
    [{}, 4_500, []],
    [{ abortAfter: 100 }, 4_500, ['waiting']],
  ])('gets its result too late (%j, after %d ms)', (terms, took, rules) => {
    expect(afterAsking(terms, [10 + took, 'fail', timeout])).toEqual(rules);
  });

  it.each([
    ['a', []],
    ['b', ['waiting']],
  ])('is not blamed for the time in which its process did not run (%s was stopped)', (lane, rules) => {
    const stall = { client: `${lane}.1`, from: 100, to: 5_400 };
    expect(afterAsking({}, [5_400, 'stall', stall], [5_500, 'fail', timeout])).toEqual(rules);
  });

  it('cannot hold a key after the end of the run', () => {
    expect(afterAsking({ final: true }, [900, 'fail', timeout])).toEqual(['service']);
  });

  it.each([
    ['acquires the key', undefined, []],
    ['fails too', 'LOCK_STORE', ['service']],
  ] as const)('repeats an attempt after the end of the run, and then %s', (_what, second, rules) => {
    const story = new ChaosStory();
    const op = story.ask('a.1', { at: 10, final: true });
    story.event(900, 'fail', { client: 'a.1', op, code: 'LOCK_STORE' });
    const again = story.ask('a.1', { at: 930, final: true });
    if (second !== undefined) story.event(960, 'fail', { client: 'a.1', op: again, code: second });
    else story.event(960, 'ok', { client: 'a.1', op: again, owner: 'a:2', tokens: { stock: 5 } });
    expect(broken(story)).toEqual(rules);
  });
});

describe('other rules', () => {
  it.each<[string, Partial<StoryHold>, look: object]>([
    ['a lock that was lost is held again', { until: 50.1, end: 'lost' }, { held: true, until: 90 }],
    ['a lock is lost, and its signal does not abort', { end: { releasedAt: 70 } }, { held: false, aborted: false }],
  ])('%s', (_, hold, look) => {
    const story = new ChaosStory();
    const op = story.hold('a.1', { from: 10, to: 50, token: 1, ...hold });
    story.event(60, 'look', { client: 'a.1', op, ...look });
    expect(broken(story)).toEqual(['validity']);
  });

  it('a lock is lost before its lease has ended', () => {
    const story = (): ChaosStory => storyOf('a 10-50 until=900 lost=500 #1');
    expect(broken(story())).toEqual(['validity']);
    const explained = story();
    explained.fault('forced release', { begin: 40, breaks: 'force release', key: 'stock' });
    expect(check(explained.events)).toMatchObject({ violations: [], explained: [{ assumption: 'force release' }] });
  });

  it.each([
    ['a', 'client suspended', 585, []],
    ['a', 'client suspended', 575, ['validity']],
    ['b', 'client suspended', 585, ['validity']],
    ['a', 'client stopped', 585, ['validity']],
  ])('a loss shortly before the end of the lease counts unless it follows a suspension: %s, %s, %d', (...row) => {
    const [client, kind, at, rules] = row;
    const story = storyOf(`a 10-50 until=600 lost=${at} #1`);
    story.fault(kind, { client, begin: 51, end: 570 });
    expect(broken(story)).toEqual(rules);
  });

  it.each([
    ['remains', 'left', { keys: ['lock:state:{stock}'] }],
    ['remains', 'eternal', { keys: ['lock:fence:{stock}'] }],
    ['surprise', 'surprise', { client: 'a.1', text: 'TypeError: no' }],
  ])('%s: %s %j', (rule, type, details) => {
    expect(broken(new ChaosStory().event(10, type, details))).toEqual([rule]);
  });

  it('a truncated history proves nothing', () => {
    const { events } = storyOf('a 10-50 #1');
    expect(check(events.slice(0, -1)).violations.map(({ rule }) => rule)).toEqual(['incomplete']);
    expect(check(events.filter(({ type }) => type !== 'left')).violations.map(({ rule }) => rule)).toEqual([
      'incomplete',
    ]);
    expect(check([]).violations.map(({ rule }) => rule)).toEqual(['incomplete']);
  });
});

/** Of several masters, whose clocks are seconds apart. */
function mastersApart(): ChaosStory {
  const story = new ChaosStory({ skews: [-2_000, 0, 3_000] });
  story.hold('a.1', { from: 1_000, to: 1_100, token: 9 });
  story.hold('b.1', { from: 1_500, to: 1_550, token: 8 });
  return story;
}

describe('several masters with clocks of their own', () => {
  it('decreasing tokens are explained only by a master that lost the last one in between', () => {
    expect(broken(mastersApart())).toContain('tokens');
    const forgottenAt = (begin: number): ChaosStory => {
      const story = mastersApart();
      story.fault('majority back empty', { begin, end: begin + 200, forgets: true });
      return story;
    };
    const explained = [{ assumption: 'tokens remembered' }, {}];
    expect(check(forgottenAt(1_200).events)).toMatchObject({ violations: [], explained });
    expect(broken(forgottenAt(200))).toContain('tokens');
  });

  it.each([
    ['before it forgot', 1_210, { end: 1_300 }, [], ['exclusion']],
    ['long after it forgot, so that its vote did not count any more', 1_500, { end: 1_300 }, ['exclusion'], []],
    ['before the fault took effect, long after it began', 1_400, { active: 1_500, end: 1_600 }, [], ['exclusion']],
  ])('a master that lost its vote explains a hold that was reported %s', (_, from, times, rules, explained) => {
    const story = new ChaosStory({ skews: [0, 0, 0] });
    story.hold('a.1', { askedAt: 1_100, from, to: 1_700, token: 1 });
    story.hold('b.1', { from: 1_600, to: 1_650, token: 2 });
    story.fault('vote forgotten', { begin: 1_200, ...times, breaks: 'restart without persistence', forgets: true });
    expect(broken(story)).toEqual(rules);
    expect(check(story.events).explained.map(({ rule }) => rule)).toEqual(explained);
  });
});

describe('latches', () => {
  type Call = Record<'id' | 'what', string> & { client?: string; count?: number };
  function call(story: ChaosStory, [begin, end]: [number, number], made: Call, outcome: unknown = true): ChaosStory {
    const { id, client = 'a.1' } = made;
    story.event(begin, 'latch', { ...made, client, phase: 'begin' });
    return story.event(end, 'latch', { client, id, phase: 'end', outcome });
  }

  /** A latch that was set to two, a waiter that learned that it is open, and the count-downs. */
  function latch(counts: number, outcome: unknown = true): ChaosStory {
    const story = new ChaosStory();
    call(story, [1_000, 1_010], { id: 'set', what: 'set', count: 2 });
    call(story, [1_020, 9_000], { id: 'wait', what: 'await' }, outcome);
    for (let i = 0; i < counts; i++) call(story, [1_100 + i, 1_110 + i], { id: `count ${i}`, what: 'count' });
    return story;
  }

  it.each([
    ['has ended before the latch was set', 990, ['latches']],
    ['was under way when the latch was set', 1_050, []],
  ])('a call that %s counts down the latch if that is possible', (_, end, rules) => {
    const story = latch(1);
    expect(broken(call(story, [950, end], { client: 'b.1', id: 'early', what: 'count' }, 1))).toEqual(rules);
  });

  /** A call without an answer, before the latch is set; its client has another connection by then. */
  const unanswered = (story: ChaosStory, begin: number): ChaosStory => {
    call(story, [begin, begin + 50], { client: 'b.1', id: 'early', what: 'count' }, 'LOCK_STORE');
    return call(story, [begin + 60, begin + 70], { client: 'b.1', id: 'next', what: 'set', count: 3 }, false);
  };

  it.each([
    ['five commandTimeouts later', -2_400, []],
    ['after that', -2_600, ['latches']],
  ])('a call that got no answer counts down a latch that was set within %s', (_, begin, rules) => {
    expect(broken(unanswered(latch(1), begin))).toEqual(rules);
  });

  it('a call that got no answer counts down one latch only', () => {
    const story = unanswered(latch(1), 900);
    call(story, [2_000, 2_010], { id: 'set again', what: 'set', count: 1 });
    call(story, [2_020, 2_200], { id: 'wait again', what: 'await' });
    expect(broken(story)).toEqual(['latches']);
  });

  const lost = (story: ChaosStory, begin: number): ChaosStory => {
    story.fault('all deleted', { begin, breaks: 'data deleted' });
    return story;
  };

  it('a waiter learns that a latch is open only after it was counted down', () => {
    expect(broken(latch(2))).toEqual([]);
    expect(broken(latch(1))).toEqual(['latches']);
  });

  it('lost data explain that only before the waiter has seen the latch', () => {
    expect(broken(lost(latch(1), 1_500))).toEqual([]);
    expect(broken(lost(latch(1), 6_000))).toEqual(['latches']);
  });

  it('a waiter has seen the latch if later requests were answered', () => {
    const seen = (): ChaosStory => latch(1).event(1_400, 'latch', { client: 'a.1', id: 'wait', phase: 'seen' });
    expect(broken(lost(seen(), 1_300))).toEqual([]);
    expect(broken(lost(seen(), 1_500))).toEqual(['latches']);
  });

  it('no loss is reported if nothing was lost', () => {
    expect(broken(latch(1, 'LOCK_LATCH_LOST'))).toEqual(['latches']);
    expect(broken(lost(latch(1, 'LOCK_LATCH_LOST'), 6_000))).toEqual([]);
  });
});

describe('the report', () => {
  const story = storyOf('a 1000-1500 #7', 'b 1200-1250 #8');
  story.fault('network cut', { begin: 2_000, end: 2_100, alone: true, client: 'b' });
  story.event(2_040, 'pulse', { client: 'b.1', from: 1_990, ok: true });
  story.event(2_180, 'pulse', { client: 'b.1', from: 2_050, ok: false });
  story.event(2_190, 'pulse', { client: 'a.1', from: 2_100, ok: true });
  story.event(2_300, 'pulse', { client: 'b.1', from: 2_250, ok: true });

  it('the summary names the violations, and how long each fault had an effect', () => {
    const summary = summarise(check(story.events));
    expect(summary.recovery).toEqual([
      {
        ...{ kind: 'network cut', count: 1, never: 0, kept: 0, lost: 0 },
        fromBegin: { median: 300, worst: 300 },
        fromEnd: { median: 200, worst: 200 },
      },
    ]);
    expect(print(summary)).toContain("VIOLATION of exclusion at 1.200 s: two incompatible holders held 'stock'");
    expect(print(summary)).toMatch(/network cut\s+1\s+300\s+300\s+200\s+200/);
  });

  it('the summary counts which locks were kept and lost: of other clients, with a lease that is renewed', () => {
    const told = storyOf();
    const locks = [
      ['a.1', 'release', true],
      ['b.1', 'lost', true],
      ['c.1', 'lost', false],
      ['d.1', 'lost', true],
    ] as const;
    for (const [client, end, renews] of locks) {
      const op = `${client}.9`;
      told.event(1_000, 'invoke', { client, op, kind: 'exclusive', keys: [op], mode: 'exclusive', wait: 100, renews });
      told.granted(op, { at: 1_001, client, owner: op, tokens: { [op]: 1 } });
      for (const at of [1_002, 2_050]) told.event(at, 'look', { client, op, held: true, until: 3_000 });
      told.event(2_051, end, { client, op });
    }
    told.fault('network cut', { begin: 2_000, end: 2_100, alone: true, client: 'd' });
    expect(summarise(check(told.events)).recovery).toMatchObject([{ kept: 1, lost: 1 }]);
  });

  it('the excerpt has only the operations of a finding, the faults and other grants of the key', () => {
    const [finding] = check(story.events).violations;
    const lines = excerpt(story.events, finding!).map((line) => JSON.parse(line) as ChaosEvent);
    expect(new Set(lines.map(({ type }) => type))).toEqual(new Set(['begin', 'invoke', 'ok', 'look', 'release']));
    expect(lines.filter(({ type }) => type === 'ok').map(({ op }) => op)).toEqual(finding!.operations);
    const later = { rule: 'service', at: 2_190, since: 2_100, message: '', operations: [] };
    expect(excerpt(story.events, later).join('\n')).toContain('network cut');
  });
});
