import type { ChaosEvent, Finding } from '../checker/check.mjs';

export declare function excerpt(events: readonly ChaosEvent[], finding: Finding): string[];
