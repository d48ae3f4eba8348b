/** The result of one check. */
export interface Finding {
  /**
   * `problem`: locks do not work, or not as promised. `warning`: they may fail later, or the check was not possible.
   */
  readonly status: 'ok' | 'warning' | 'problem';
  /** The subject of the check. */
  readonly check: string;
  readonly found: string;
  /** What to change. */
  readonly advice?: string;
}

export const ok = (check: string, found: string): Finding => ({ status: 'ok', check, found });
export const warning = (check: string, found: string, advice: string): Finding => ({
  status: 'warning',
  ...{ check, found, advice },
});
export const problem = (check: string, found: string, advice: string): Finding => ({
  status: 'problem',
  ...{ check, found, advice },
});

/** What a check has found of its subject: a text if it is as it should be. */
export type Verdict = string | (Omit<Finding, 'check'> & { readonly advice: string });

export function about(check: string, verdict: Verdict): Finding {
  if (typeof verdict === 'string') return ok(check, verdict);
  const { status, found, advice } = verdict;
  return { status, check, found, advice };
}
