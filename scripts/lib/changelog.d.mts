export function unreleasedVersion(changelog: string): string | undefined;
export function notesOf(changelog: string, version: string): string;
export function withDate(changelog: string, date: string): string;
