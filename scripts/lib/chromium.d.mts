/** In this variable a browser can be named that is not on the PATH. */
export const CHROMIUM_VARIABLE: string;
/** Where Chromium is: what `CHROMIUM_PATH` says, else on the PATH. */
export function findChromium(env?: NodeJS.ProcessEnv): string;
