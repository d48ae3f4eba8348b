/** What a run does, and what happens to it. All of it is data: the same schedule is the same run, step by step. */
export interface Schedule {
  /** Decides what no other field does: how long each message takes, and which are lost. */
  readonly noise: number;
  /** One, or the masters of a quorum. */
  readonly servers: readonly ServerTerms[];
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

/** What goes wrong with messages all the time; shares of them. */
export interface Weather {
  /** ms that a message takes, mostly; one in twenty takes up to five times as long. */
  readonly delay: number;
  /** Questions that are lost, and answers. */
  readonly loss: number;
  readonly pushLoss: number;
  /** Questions that are executed twice. */
  readonly duplicates: number;
  /** Questions that the server answers with an error that passes, as while it loads its data. */
  readonly refusals: number;
}

export const PROCESSES = 3;
export const CALLERS = 4;
/** How many masters a quorum has at most. */
export const MOST_MASTERS = 5;
export const KEYS = ['a', 'b', 'c', 'leader'] as const;
/** The place of the key for which candidates stand, and nobody else asks. */
export const ELECTION = 3;
/** How many permits a key has, where nobody has set another number. */
export const PERMITS = 3;

export type Kind = 'exclusive' | 'fair' | 'read' | 'permits';
export type LeaseKind = 'renewed' | 'long' | 'counted' | 'fixed';
/** What a holder does in its section, beside taking its time. */
export type Act =
  'nothing' | 'verify' | 'assert' | 'extend' | 'shrink' | 'reenter' | 'again' | 'downgrade' | 'abandon' | 'inspect';

/** One caller's way through a section. Those of one caller come one after the other. */
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

/** How a candidate stands, and what it does as the leader; all in ms. */
export interface Candidacy {
  readonly stands: number;
  /** How long `onElected` takes, whether the term is over or not. */
  readonly work: number;
  /** How long `onDeposed` takes. */
  readonly farewell: number;
  readonly finishTimeout: number;
  readonly resignsAfter: number | undefined;
}

export type FaultKind =
  | 'stall'
  | 'suspension'
  | 'crash'
  | 'shutdown'
  | 'commands cut'
  | 'subscription cut'
  | 'both cut'
  | 'server frozen'
  | 'server restarted'
  | 'server emptied'
  | 'address moved'
  | 'failover'
  | 'force release'
  | 'vote ended'
  | 'permits set'
  | 'wall clock';

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

/** What is no fault but an order. */
export const ORDERS: ReadonlySet<FaultKind> = new Set<FaultKind>(['force release', 'permits set', 'wall clock']);

/** ms */
export const TIMES = { lease: 600, commandTimeout: 500, grantTimeout: 200, longWait: 300_000 } as const;
