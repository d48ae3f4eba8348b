export const SNAPSHOT: string;
export function describeApi(entry?: string): string;
export function readSnapshot(): string;
