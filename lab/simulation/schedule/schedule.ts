/**
 * The actions of a run, and the faults that strike it. All of it is data: the same schedule is the same run, step by
 * step.
 */
export interface Schedule {
  /** Decides everything that no other field decides: how long each message takes, and which messages are lost. */
  readonly noise: number;
  /** A single server, or the masters of a quorum. */
  readonly servers: readonly ServerTerms[];
  /** The scripts have small limits, which few callers reach. */
  readonly hasSmallLimits: boolean;
  readonly turns: { readonly most: number; readonly time: number };
  /** In thousandths: how much faster the clock of each process runs than it should. */
  readonly drift: readonly number[];
  readonly visits: readonly Visit[];
  readonly faults: readonly Fault[];
}

/** A server, and the way to it. */
export interface ServerTerms {
  readonly weather: Weather;
  /** In thousandths: how much faster its clock runs than it should. */
  readonly drift: number;
  /** Whole ms by which its clock is ahead of the right time from the start. */
  readonly ahead: number;
}

/** The continuous faults of messages, as shares of all messages. */
export interface Weather {
  /** ms that a message takes, mostly; one in twenty takes up to five times as long. */
  readonly delay: number;
  /** Requests that are lost, and replies. */
  readonly loss: number;
  readonly pushLoss: number;
  /** Requests that are executed twice. */
  readonly duplicates: number;
  /** Requests that the server answers with an error that passes, as while it loads its data. */
  readonly refusals: number;
}

export const PROCESSES = 3;
export const CALLERS = 4;
/** How many masters a quorum has at most. */
export const MOST_MASTERS = 5;
export const KEYS = ['a', 'b', 'c', 'leader'] as const;
/** The place of the key for which candidates stand, and which no other caller uses. */
export const ELECTION = 3;
/** How many permits a key has if no caller has set another number. */
export const PERMITS = 3;

export type Kind = 'exclusive' | 'fair' | 'read' | 'permits';
export type LeaseKind = 'renewed' | 'long' | 'counted' | 'fixed';
/** An additional action of a holder in its section, besides taking its time. */
export type Act = 'nothing' | Question | Reentry | Handoff;
type Question = 'verify' | 'assert' | 'extend' | 'shrink' | 'inspect' | 'latch';
type Reentry = 'reenter' | 'again' | 'downgrade';
type Handoff = 'abandon' | 'hand over' | 'release in background';

/** One caller's way through a section. The visits of one caller follow one after the other. */
export interface Visit {
  readonly process: number;
  readonly caller: number;
  /** ms before it asks. */
  readonly pause: number;
  /** Places in `KEYS`; several: all or none. */
  readonly keys: readonly number[];
  readonly kind: Kind;
  readonly units: number;
  readonly owner: string | undefined;
  readonly lease: LeaseKind;
  /** ms */
  readonly holdAtLeast: number;
  readonly replicas: boolean;
  /** ms; 0: one try. */
  readonly waitTimeout: number;
  /** ms after which the caller's signal aborts. */
  readonly abortAfter: number | undefined;
  /** ms that the section takes. */
  readonly section: number;
  readonly act: Act;
  /** Not a section, but an election, in which it stands. */
  readonly candidacy: Candidacy | undefined;
}

/** How a candidate stands for election, and how it acts as the leader; all in ms. */
export interface Candidacy {
  readonly stands: number;
  /** How long `onElected` takes, whether the term is over or not. */
  readonly work: number;
  /** How long `onDeposed` takes. */
  readonly farewell: number;
  readonly finishTimeout: number;
  readonly resignsAfter: number | undefined;
}

export type FaultKind = OfProcess | OfNetwork | OfServer | OfOperator;
type OfProcess = 'stall' | 'suspension' | 'crash' | 'shutdown' | 'wall clock';
type OfNetwork = 'commands cut' | 'commands late' | 'subscription cut' | 'both cut' | 'address moved';
type OfServer = 'server frozen' | 'server restarted' | 'server emptied' | 'failover' | 'master replaced';
type OfOperator = 'force release' | 'vote ended' | 'permits set';

export interface Fault {
  /** ms from the start. */
  readonly at: number;
  readonly kind: FaultKind;
  readonly process: number;
  /** Which server it strikes, or the way to which; counted on from the first one behind the last. */
  readonly server: number;
  readonly key: number;
  /** ms */
  readonly lasts: number;
}

/** Whether the server is a master of a Cluster: then it has a replica that may take its place while it still runs. */
export const isInCluster = ({ faults }: Schedule): boolean => faults.some(({ kind }) => kind === 'master replaced');

/** The kinds that are not faults but orders of an operator. */
export const ORDERS: ReadonlySet<FaultKind> = new Set<FaultKind>(['force release', 'permits set', 'wall clock']);

/** ms */
export const TIMES = {
  lease: 600,
  commandTimeout: 500,
  grantTimeout: 200,
  replicaTimeout: 50,
  longWait: 300_000,
} as const;
