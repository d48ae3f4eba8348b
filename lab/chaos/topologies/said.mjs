import { setTimeout as sleep } from 'node:timers/promises';

/** ms */
const PATIENCE = 1_000;

/** The answer of a server, as a text; also that it does not answer, or why it refuses. */
export async function said(question) {
  const answer = question().catch((error) => error);
  return String(await Promise.race([answer, sleep(PATIENCE, 'no answer')]));
}
