export declare const HOST: '127.0.0.1';
export declare function findFreePort(): Promise<number>;
