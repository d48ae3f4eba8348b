import type { RedisInstallation } from '../../testbed/servers/redis-process.mjs';
import type { ChaosEvent } from '../checker/check.mjs';

export interface ChaosOptions {
  readonly seed: number;
  /** ms of faults. */
  readonly length: number;
  readonly topology: string;
  readonly installation: RedisInstallation;
  /** Only faults that leave the assumptions of the docs alone. */
  readonly onlyKept?: boolean;
  /** Only faults of these names. */
  readonly only?: readonly string[];
  /** Only callers of this sort. */
  readonly holders?: string;
  /** With the time-outs that the library has by default. */
  readonly defaultTimeouts?: boolean;
  readonly say?: (text: string) => void;
}

export declare function runChaos(options: ChaosOptions): Promise<ChaosEvent[]>;
