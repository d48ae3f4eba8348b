import type { AcquireRequest } from '../lock-store.js';
import type { QuorumMember } from '../quorum-member.js';

/**
 * The request for one master. Its age gives it the same place in every queue, whatever the clocks show. `ageBackoff`:
 * by how many ms the age is reduced.
 */
export function memberRequest(
  request: AcquireRequest,
  { listening }: QuorumMember,
  age: number,
  ageBackoff: number,
): AcquireRequest {
  // The masters decide whether a batch is possible. A majority reserves the tokens after it has accepted the first of
  // them.
  const batchSize = Math.min(request.batchSize, 2);
  return {
    ...request,
    waits: request.waits && listening,
    batchSize,
    uncontendedBatchSize: batchSize,
    age: Math.max(0, age - ageBackoff),
    backedOff: ageBackoff > 0,
  };
}
