/** For whoever waits `ms` for an answer and no longer. */
export async function after(ms: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref());
  throw new Error(`no answer within ${ms} ms`);
}

/** What a server answers that does not let its user ask. */
export const isRefusal = (error: unknown): error is Error => error instanceof Error && /\bNOPERM\b/.test(error.message);
