import type { LockWaiter } from './lock-state.js';

/** The first of a client's 32 digits: enough to tell a few clients apart. */
export const clientName = (client: string): string => client.slice(0, 8);

/** The owner that a caller named; `undefined`: the acquisition is its own owner. */
export const ownerName = ({ owner, client }: Pick<LockWaiter, 'owner' | 'client'>): string | undefined =>
  owner.startsWith(`${client}:`) ? undefined : owner;

/** The owner that a caller named, or else the label of the client, or the acquisition if the label is not known. */
export const partyName = (party: Pick<LockWaiter, 'owner' | 'client' | 'label'>): string =>
  ownerName(party) ?? party.label ?? clientName(party.client) + party.owner.slice(party.client.length);

/** How a lock is held or requested, in words. */
export const kindName = ({ kind, units }: Pick<LockWaiter, 'kind' | 'units'>): string =>
  kind === 'permits' ? counted(units, 'permit') : kind;

/** Writes a count in groups of three digits: `4 980`. */
export const grouped = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ');

/** A count with its noun: `1 hold`, `4 980 holds`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : plural}`;
