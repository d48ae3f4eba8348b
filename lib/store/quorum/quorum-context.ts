import type { Clock } from '../../common/clock.js';
import type { Member } from './member.js';

/** The record that all parts of a quorum share. */
export interface QuorumContext {
  readonly members: readonly Member[];
  /** How many members are a majority. */
  readonly quorum: number;
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** ms */
  readonly commandTimeout: number;
}
