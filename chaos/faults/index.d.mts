export declare const EVERYWHERE: ReadonlyArray<{ readonly name: string; readonly breaks?: string }>;
