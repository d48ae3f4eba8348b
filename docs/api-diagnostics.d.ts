// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare const LOCK_CHANNELS: Readonly<{
    contended: string;
    acquired: string;
    timeout: string;
    skipped: string;
    renewed: string;
    released: string;
    unreleased: string;
    lost: string;
    acquire: string;
}>;

export type LockDiagnostics<Event extends LockEvent = LockEvent> = Event & {
    readonly instance: string;
};

export interface LockAcquiredEvent extends EventOfKey {
    readonly type: 'acquired';
    readonly fencingToken: number;
    readonly waited: number;
    readonly contended: boolean;
    readonly previousHolder: string | undefined;
}

export interface LockContendedEvent extends EventOfKey {
    readonly type: 'contended';
    readonly holder: string | undefined;
    readonly holderId: string | undefined;
}

export interface LockLostEvent extends EventOfKey {
    readonly type: 'lost';
    readonly fencingToken: number;
    readonly held: number;
    readonly reason: string;
    readonly lossReason: LossReason;
    readonly forcedBy: string | undefined;
    readonly nextHolder: string | undefined;
}

export interface LockReleasedEvent extends EventOfKey {
    readonly type: 'released';
    readonly fencingToken: number;
    readonly held: number;
}

export interface LockRenewedEvent extends EventOfKey {
    readonly type: 'renewed';
    readonly fencingToken: number;
    readonly renewals: number;
    readonly late: number;
}

export interface LockSkippedEvent extends EventOfKey {
    readonly type: 'skipped';
    readonly holder: string | undefined;
    readonly holderId: string | undefined;
    readonly waited: number;
}

export interface LockTimeoutEvent extends EventOfKey {
    readonly type: 'timeout';
    readonly holder: string | undefined;
    readonly holderId: string | undefined;
    readonly waited: number;
}

export interface LockUnreleasedEvent extends EventOfKey {
    readonly type: 'unreleased';
    readonly fencingToken: number;
    readonly held: number;
    readonly reason: string;
}

export interface AcquiredLock {
    readonly isHeld: boolean;
    readonly fencingTokens: ReadonlyMap<string, number>;
    readonly holders: ReadonlyMap<string, string>;
}

export interface LockAcquisition {
    readonly instance: string;
    readonly keys: readonly string[];
    readonly pattern: string | undefined;
    readonly method: string | undefined;
    readonly kind: 'exclusive' | 'read' | 'permits';
    readonly owner: string | undefined;
    readonly waitTimeout: number;
    readonly optional: boolean;
    readonly isClosing: boolean;
    result?: AcquiredLock;
    error?: unknown;
}
