import type { Finding } from '../checker/check.mjs';

export declare function picture(model: object, finding: Finding): string;
