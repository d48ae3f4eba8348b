/** Rejects after `ms`, to limit the time for an answer. */
export async function after(ms: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref());
  throw new Error(`no answer within ${ms} ms`);
}

/** Whether a server denies its user a command. */
export const isRefusal = (error: unknown): error is Error => error instanceof Error && /\bNOPERM\b/.test(error.message);
