export function documentWith(text?: string): string;
