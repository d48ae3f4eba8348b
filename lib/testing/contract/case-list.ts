import type { Stage } from './stage.js';

/** Cases by name. A name states the behaviour that the case proves. */
export type CaseList = Readonly<Record<string, (stage: Stage) => Promise<void>>>;
