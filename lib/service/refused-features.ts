import type { LockEngine, StoreFeature } from '../engine/lock-engine.js';
import { LockConfigError } from '../errors/index.js';
import type { AcquireTerms } from '../options/resolve-acquire-options.js';

/** @throws LockConfigError for the first feature that the request needs and the store lacks */
export function refuseLacking(engine: LockEngine, { mode, owner, fair, holdAtLeast, replicas }: AcquireTerms): void {
  if (mode.kind === 'permits') refuseFeature(engine, 'permits');
  if (owner !== undefined) refuseFeature(engine, 'owner');
  if (fair) refuseFeature(engine, 'fair');
  if (holdAtLeast > 0) refuseFeature(engine, 'holdAtLeast');
  if (replicas !== undefined) refuseFeature(engine, 'replicas');
}

/** @throws LockConfigError if the store lacks a feature */
export function refuseFeature({ lacks }: LockEngine, feature: StoreFeature): void {
  const message = lacks?.[feature];
  if (message !== undefined) throw new LockConfigError(message);
}
