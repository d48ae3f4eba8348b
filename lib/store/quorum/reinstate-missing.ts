import type { RenewReply, RenewRequest } from '../lock-store.js';
import type { AcquisitionRegistry } from './acquisition-registry.js';

/** Reinstates the votes of holds that have a majority, on masters that do not know them. Never rejects. */
export async function reinstateMissing(
  acquisitions: AcquisitionRegistry,
  requests: readonly RenewRequest[],
  decided: readonly RenewReply[],
  round: ReadonlyArray<Promise<readonly RenewReply[]>>,
): Promise<void> {
  const answers = await Promise.allSettled(round);
  requests.forEach(({ id }, i) => {
    const isMissing = (_: unknown, place: number): boolean => {
      const answer = answers[place]!;
      return answer.status === 'fulfilled' && answer.value[i] === 'not-held';
    };
    const acquisition = typeof decided[i] === 'number' ? acquisitions.get(id) : undefined;
    void acquisition?.reinstatement.reinstate(acquisition.states.filter(isMissing));
  });
}
