export type EntryName = 'index' | 'testing' | 'metrics' | 'health' | 'dashboard';
export const SNAPSHOTS: Record<EntryName, { entry: string; file: string }>;
export function describeApi(name?: EntryName): string;
export function readSnapshot(name?: EntryName): string;
