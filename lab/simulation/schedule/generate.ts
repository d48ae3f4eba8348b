import fc from 'fast-check';
import type { Candidacy, Fault, FaultKind, Kind, Schedule, ServerTerms, Visit, Weather } from './schedule.js';
import { CALLERS, ELECTION, KEYS, MOST_MASTERS, PROCESSES, TIMES } from './schedule.js';

const MOST_VISITS = 50;
const FEW_VISITS = 12;
const MOST_FAULTS = 6;

/** Picks one of several values, each as often as the weight before it says; it shrinks to the first. */
const oneOf = <T>(...choices: ReadonlyArray<readonly [weight: number, ...values: T[]]>): fc.Arbitrary<T> => {
  const values = choices.flatMap(([weight, ...all]) =>
    all.flatMap((value) => Array.from<T>({ length: weight }).fill(value)),
  );
  return fc.nat(values.length - 1).map((place) => values[place]!);
};

/** `usual` in most cases, `rare` in one of `oneIn`. */
const rarely = <T>(oneIn: number, usual: T, rare: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rare });

const processes = fc.nat(PROCESSES - 1);
const callers = fc.nat(CALLERS - 1);
const waits = fc.oneof(
  { weight: 7, arbitrary: fc.constant<number>(TIMES.longWait) },
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 20, max: 400 }) },
);
const sections = fc.oneof({ weight: 19, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.nat(3 * TIMES.lease) });

const candidacyOf = (
  stands: fc.Arbitrary<number>,
  resignsAfter: fc.Arbitrary<number | undefined>,
): fc.Arbitrary<Candidacy> =>
  fc.record({
    stands,
    resignsAfter,
    work: fc.nat(60),
    farewell: fc.oneof({ weight: 2, arbitrary: fc.nat(10) }, { weight: 1, arbitrary: fc.nat(300) }),
    finishTimeout: oneOf([2, 30_000], [1, 20], [1, Infinity]),
  });
const resignations = fc.option(fc.integer({ min: 10, max: 200 }), { nil: undefined });
const candidacies = candidacyOf(
  fc.oneof({ weight: 2, arbitrary: fc.nat(300) }, { weight: 1, arbitrary: fc.nat(4 * TIMES.lease) }),
  resignations,
);
/** For so long that most faults strike a leader. */
const longCandidacies = candidacyOf(
  fc.integer({ min: 300, max: 4 * TIMES.lease }),
  rarely<number | undefined>(4, undefined, resignations),
);

/** A visit as most are, with other `terms`. The order of the terms decides which visits a seed has. */
const visitOf = (terms: Partial<{ [Term in keyof Visit]: fc.Arbitrary<Visit[Term]> }>): fc.Arbitrary<Visit> =>
  fc.record<Visit>({
    process: processes,
    caller: callers,
    pause: fc.nat(12),
    keys: fc.constant([0]),
    kind: fc.constant('exclusive'),
    units: fc.constant(1),
    owner: fc.constant(undefined),
    lease: fc.constant('renewed'),
    holdAtLeast: fc.constant(0),
    replicas: fc.constant(false),
    waitTimeout: waits,
    abortAfter: fc.constant(undefined),
    section: sections,
    act: fc.constant('nothing'),
    candidacy: fc.constant(undefined),
    ...terms,
  });

/** All of some kinds side by side. */
const mixedVisit = (kind: fc.Arbitrary<Kind>, replicas: fc.Arbitrary<boolean>): fc.Arbitrary<Visit> =>
  visitOf({
    keys: oneOf<readonly number[]>([8, [0]], [3, [1]], [1, [2]], [1, [0, 1]], [1, [2, 0]], [1, [1, 2]]),
    kind,
    units: fc.integer({ min: 1, max: 2 }),
    owner: oneOf([10, undefined], [1, 'ada', 'bob']),
    lease: oneOf([6, 'renewed'], [1, 'long'], [2, 'fixed'], [1, 'counted']),
    holdAtLeast: rarely(10, 0, fc.nat(60)),
    replicas,
    abortAfter: rarely<number | undefined>(10, undefined, fc.nat(120)),
    act: oneOf(
      [12, 'nothing'],
      [1, 'verify', 'assert', 'extend', 'shrink', 'reenter', 'again', 'downgrade', 'abandon', 'inspect'],
      [2, 'latch', 'hand over', 'release in background'],
    ),
    candidacy: rarely<Candidacy | undefined>(15, undefined, candidacies),
  });

/** Many visits want one key alone, so the callers of one process hold it in turn. */
const plainVisit = visitOf({
  pause: fc.nat(3),
  keys: oneOf<readonly number[]>([15, [0]], [1, [0, 1]]),
  kind: oneOf([30, 'exclusive'], [1, 'fair', 'read']),
  lease: oneOf([6, 'renewed'], [1, 'long', 'fixed', 'counted']),
  abortAfter: rarely<number | undefined>(20, undefined, fc.nat(60)),
  act: oneOf(
    [20, 'nothing'],
    [1, 'verify', 'extend', 'shrink', 'reenter', 'downgrade', 'hand over'],
    [5, 'release in background'],
  ),
});

/** Many callers of one key that share holds: readers, or callers for permits. Few others. */
const sharingVisit = (kind: 'read' | 'permits'): fc.Arbitrary<Visit> =>
  visitOf({
    keys: oneOf<readonly number[]>([15, [0]], [1, [1]], [1, [0, 1]]),
    kind: oneOf<Visit['kind']>([10, kind], [2, 'exclusive'], [1, 'fair']),
    units: oneOf([5, 1], [1, 2]),
    owner: rarely<string | undefined>(15, undefined, fc.constant('ada')),
    lease: oneOf([6, 'renewed'], [1, 'long'], [2, 'fixed'], [1, 'counted']),
    holdAtLeast: rarely(15, 0, fc.nat(60)),
    abortAfter: rarely<number | undefined>(20, undefined, fc.nat(60)),
    act: oneOf(
      [10, 'nothing'],
      [1, 'verify'],
      [2, 'extend', 'shrink'],
      [1, 'reenter', 'abandon', 'inspect', 'latch', 'hand over'],
      [4, 'release in background'],
    ),
  });

/** Few callers that hold a key so long that most faults strike during the hold, and that set its lease anew. */
const lastingVisit = visitOf({
  pause: fc.nat(TIMES.lease),
  keys: oneOf<readonly number[]>([1, [0]], [1, [1]], [1, [2]]),
  kind: oneOf([6, 'exclusive'], [1, 'fair', 'read']),
  lease: oneOf([2, 'fixed', 'renewed'], [1, 'long', 'counted']),
  section: fc.nat(3 * TIMES.lease),
  act: oneOf([2, 'extend'], [1, 'nothing', 'verify', 'shrink', 'hand over']),
});

/** Many callers of one key that hold it for long, so that some wait whenever a master is replaced. */
const crowdedVisit = visitOf({
  pause: fc.nat(30),
  keys: oneOf<readonly number[]>([15, [0]], [1, [1]]),
  kind: oneOf([8, 'exclusive'], [1, 'fair', 'read']),
  lease: oneOf([4, 'renewed'], [1, 'long', 'fixed']),
  section: fc.nat(300),
  act: oneOf([10, 'nothing'], [1, 'verify', 'extend', 'hand over', 'release in background']),
});

/** Owners that acquire a key again, some of which keep it for their `holdAtLeast`. */
const ownersVisit = visitOf({
  keys: oneOf<readonly number[]>([15, [0]], [1, [0, 1]]),
  kind: oneOf([4, 'exclusive'], [1, 'fair', 'read']),
  owner: oneOf([2, 'ada'], [1, 'bob'], [1, undefined]),
  lease: oneOf([4, 'renewed'], [1, 'long', 'fixed']),
  holdAtLeast: rarely(2, 0, fc.nat(120)),
  abortAfter: rarely<number | undefined>(20, undefined, fc.nat(60)),
  act: oneOf([6, 'nothing'], [1, 'reenter', 'again', 'downgrade', 'inspect', 'release in background']),
});

/** Many callers that each try one key once, at the same time. */
const singleTry = visitOf({
  pause: fc.nat(20),
  keys: oneOf<readonly number[]>([15, [0]], [1, [1]]),
  waitTimeout: oneOf([9, 0], [1, 40]),
  section: fc.nat(5),
});

/** Few candidates, so that one of them often leads again. */
const candidacyVisit = visitOf({
  pause: fc.nat(60),
  waitTimeout: fc.constant(0),
  section: fc.constant(0),
  candidacy: longCandidacies,
});

const faultOf = (
  kind: fc.Arbitrary<FaultKind>,
  server: fc.Arbitrary<number>,
  key: fc.Arbitrary<number> = fc.nat(KEYS.length - 1),
): fc.Arbitrary<Fault> =>
  fc.record({
    at: fc.nat(1_000),
    kind,
    process: fc.nat(PROCESSES - 1),
    key,
    lasts: fc.nat(2 * TIMES.lease),
    server,
  });

const faultOfOneServer = faultOf(
  oneOf<FaultKind>(
    [3, 'stall'],
    [2, 'suspension', 'crash'],
    [1, 'shutdown'],
    [2, 'commands cut', 'commands late', 'subscription cut', 'both cut'],
    [1, 'server frozen', 'server restarted', 'server emptied'],
    [4, 'failover'],
    [1, 'force release', 'permits set', 'wall clock'],
  ),
  fc.constant(0),
);

/** Masters of a Cluster that are frozen, replaced and thawed, while the clients learn of it late. */
const faultOfCluster = faultOf(
  oneOf<FaultKind>(
    [10, 'master replaced'],
    [1, 'stall', 'suspension', 'crash', 'both cut', 'commands late', 'subscription cut', 'server restarted'],
  ),
  fc.constant(0),
);

const faultOfMasters = faultOf(
  oneOf<FaultKind>(
    [3, 'stall'],
    [2, 'suspension', 'crash'],
    [1, 'shutdown'],
    [2, 'commands cut'],
    [4, 'commands late'],
    [2, 'subscription cut'],
    [3, 'both cut'],
    [2, 'server frozen', 'server restarted'],
    [4, 'server emptied'],
    [1, 'address moved', 'force release'],
    [3, 'vote ended'],
    [1, 'wall clock'],
  ),
  fc.nat(MOST_MASTERS),
);

/** Forced releases that reach one master, and whose messages are lost, while the holders renew their votes. */
const faultOfVotes = faultOf(
  oneOf<FaultKind>([6, 'vote ended'], [1, 'both cut', 'commands late', 'server restarted']),
  fc.nat(MOST_MASTERS),
  fc.nat(2),
).map((fault) => (fault.kind === 'vote ended' ? { ...fault, lasts: fault.lasts | 1 } : fault));

const faultOfElections = faultOf(
  oneOf<FaultKind>(
    [2, 'stall', 'suspension'],
    [1, 'crash', 'shutdown'],
    [2, 'both cut'],
    [1, 'server frozen', 'server restarted'],
    [2, 'server emptied'],
    [4, 'force release'],
  ),
  fc.nat(MOST_MASTERS),
  fc.constant(ELECTION),
);

const CALM: Weather = { delay: 2, loss: 0, pushLoss: 0, duplicates: 0, refusals: 0 };
const weather = oneOf<Weather>(
  [2, CALM],
  [1, { delay: 5, loss: 0.03, pushLoss: 0.2, duplicates: 0.05, refusals: 0.02 }],
  [1, { delay: 30, loss: 0.01, pushLoss: 0.05, duplicates: 0.02, refusals: 0 }],
  [1, { delay: 5, loss: 0, pushLoss: 0, duplicates: 0.1, refusals: 0.05 }],
);

/** Half a per cent at most, so that no clock runs more than one per cent faster than another. */
const drift = fc.integer({ min: -5, max: 5 }).map((n) => n * 0.99);

const listOf = <T>(each: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(each, { minLength: MOST_MASTERS, maxLength: MOST_MASTERS });

const oneServer: fc.Arbitrary<readonly ServerTerms[]> = fc
  .record({ weather, drift, ahead: fc.constant(0) })
  .map((server) => [server]);

/** ms by which the clock of a master may be wrong. */
const MOST_AHEAD = 3_000;
const masters: fc.Arbitrary<readonly ServerTerms[]> = fc
  .record({
    count: oneOf([3, 3], [1, 4], [2, 5]),
    weather,
    /** In a third of all cases the ways to them are not alike. */
    weathers: rarely<readonly Weather[]>(3, [], listOf(weather)),
    drifts: listOf(drift),
    aheads: fc.oneof(fc.constant<readonly number[]>([]), listOf(fc.integer({ min: -MOST_AHEAD, max: MOST_AHEAD }))),
  })
  .map(({ count, weather: usual, weathers, drifts, aheads }) =>
    Array.from({ length: count }, (_, place) => ({
      weather: weathers[place] ?? usual,
      drift: drifts[place]!,
      ahead: aheads[place] ?? 0,
    })),
  );

const visitsOf = (visit: fc.Arbitrary<Visit>, most = MOST_VISITS): fc.Arbitrary<readonly Visit[]> =>
  fc.array(visit, { minLength: 1, maxLength: most, size: 'max' });

const someFaults = (fault: fc.Arbitrary<Fault>): fc.Arbitrary<readonly Fault[]> =>
  fc.array(fault, { minLength: 1, maxLength: MOST_FAULTS, size: 'max' });
const faultsOf = (fault: fc.Arbitrary<Fault>) => rarely<readonly Fault[]>(3, [], someFaults(fault));

const common = {
  noise: fc.nat(),
  hasSmallLimits: oneOf([2, false], [1, true]),
  turns: fc.record({ most: oneOf([1, 1], [2, 3], [2, 16]), time: fc.integer({ min: 5, max: 60 }) }),
  drift: fc.array(drift, { minLength: PROCESSES, maxLength: PROCESSES }),
};

const schedulesOf = (terms: { [Term in 'servers' | 'visits' | 'faults']: fc.Arbitrary<Schedule[Term]> }) =>
  fc.record<Schedule>({ ...common, ...terms });

const mixedVisits = mixedVisit(oneOf([8, 'exclusive'], [2, 'fair', 'read', 'permits']), oneOf([19, false], [1, true]));
const schedulesOfOneServer = schedulesOf({
  servers: oneServer,
  visits: fc.oneof(
    visitsOf(mixedVisits),
    visitsOf(plainVisit),
    visitsOf(sharingVisit('read')),
    visitsOf(sharingVisit('permits')),
    visitsOf(lastingVisit, FEW_VISITS),
    visitsOf(ownersVisit),
  ),
  faults: faultsOf(faultOfOneServer),
});

const schedulesOfCluster = schedulesOf({
  servers: oneServer,
  visits: fc.oneof(visitsOf(mixedVisits), { weight: 3, arbitrary: visitsOf(crowdedVisit) }),
  faults: someFaults(faultOfCluster),
});

/** Several masters count no permits, and take the place of replicas. */
const mixedVisitsOfMasters = mixedVisit(oneOf([8, 'exclusive'], [2, 'fair', 'read']), fc.constant(false));
const schedulesOfMasters = schedulesOf({
  servers: masters,
  visits: fc.oneof(
    visitsOf(mixedVisitsOfMasters),
    visitsOf(plainVisit),
    visitsOf(sharingVisit('read')),
    visitsOf(lastingVisit, FEW_VISITS),
    visitsOf(singleTry),
  ),
  faults: faultsOf(faultOfMasters),
});

const schedulesOfVotes = schedulesOf({
  servers: masters,
  visits: visitsOf(lastingVisit, FEW_VISITS),
  faults: someFaults(faultOfVotes),
});

/** Elections alone, and the faults by which leaders lose their locks. */
const schedulesOfElections = schedulesOf({
  servers: fc.oneof(oneServer, masters),
  visits: visitsOf(candidacyVisit, 6),
  faults: faultsOf(faultOfElections),
});

/** All schedules. */
export const schedules: fc.Arbitrary<Schedule> = fc.oneof(
  { weight: 18, arbitrary: schedulesOfOneServer },
  { weight: 3, arbitrary: schedulesOfCluster },
  { weight: 8, arbitrary: schedulesOfMasters },
  { weight: 1, arbitrary: schedulesOfVotes },
  { weight: 3, arbitrary: schedulesOfElections },
);
