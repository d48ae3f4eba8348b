export declare const TOPOLOGY_NAMES: readonly string[];
export declare function loadTopology(name: string): Promise<object>;
