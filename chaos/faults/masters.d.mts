export declare const AMONG_MASTERS: ReadonlyArray<{ readonly name: string; readonly breaks?: string }>;
