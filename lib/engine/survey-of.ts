import type { HoldSurvey, SurveyRequest } from '../store/hold-survey.js';
import type { StoredLock } from '../store/lock-store.js';

/** Finds the answers in all holds of a key. */
export function surveyOf({ holds, limit }: StoredLock, { kind, owner }: SurveyRequest): HoldSurvey {
  let [ttl, units, isOwned, hasOthers] = [-2, 0, false, false];
  for (const hold of holds) {
    if (hold.mode.kind === 'permits') units += hold.mode.units;
    if (hold.mode.kind === kind) {
      ttl = Math.max(ttl, hold.ttl);
      isOwned ||= owner !== undefined && hold.owner === owner && !hold.kept;
    } else hasOthers = true;
  }
  return { ttl, units, isOwned, hasOthers, limit };
}
