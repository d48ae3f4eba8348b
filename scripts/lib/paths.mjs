import { fileURLToPath } from 'node:url';

/** The root directory of the project. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
