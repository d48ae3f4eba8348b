import type { Stage } from './stage.js';

/** Cases by name; a name begins with the number of the behaviour in the list of what locks have to do. */
export type CaseList = Readonly<Record<string, (stage: Stage) => Promise<void>>>;
