import { hasMethods } from '../common/type-guards.js';

/** A client of the package `redis` (node-redis) 5 or 6, made by `createClient`. The library imports nothing of it. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: object | undefined;
  duplicate(...overrides: any[]): unknown;
  sendCommand(args: any, ...more: any[]): Promise<unknown>;
  subscribe(...args: any[]): Promise<unknown>;
  destroy(): void;
}

/** A client of a Cluster, made by `createCluster` of node-redis. */
export interface NodeRedisCluster {
  readonly isOpen: boolean;
  readonly _options: object;
  duplicate(...overrides: any[]): unknown;
  nodeClient(node: any): Promise<unknown>;
  sendCommand(...args: any[]): Promise<unknown>;
  destroy(): void;
}

/** A client of Sentinels, made by `createSentinel` of node-redis 5 or 6. */
export interface NodeRedisSentinel {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly _keyPrefix?: string | undefined;
  getSentinelNode(): unknown;
  getMasterNode(): { readonly host: string; readonly port: number } | undefined;
  _execute(isReadonly: boolean | undefined, fn: (client: any) => Promise<any>): Promise<unknown>;
}

/** Whether this is a client of one server, made by any copy of node-redis 5 or 6. */
export const isNodeRedisClient = (connection: unknown): connection is NodeRedisClient =>
  hasMethods(connection, 'duplicate', 'sendCommand', 'subscribe', 'destroy', 'unref', 'createPool') &&
  typeof connection['isOpen'] === 'boolean' &&
  typeof connection['isReady'] === 'boolean' &&
  ['undefined', 'object'].includes(typeof connection['options']) &&
  connection['connector'] === undefined;

/** Whether this is a client of a Cluster, made by any copy of node-redis 5 or 6. */
export const isNodeRedisCluster = (connection: unknown): connection is NodeRedisCluster =>
  hasMethods(connection, 'duplicate', 'nodeClient', 'sendCommand', 'destroy') &&
  typeof connection['isOpen'] === 'boolean' &&
  typeof connection['_options'] === 'object';

/** Whether this is a client of Sentinels, made by any copy of node-redis 5 or 6. */
export const isNodeRedisSentinel = (connection: unknown): connection is NodeRedisSentinel =>
  hasMethods(connection, 'getSentinelNode', 'getMasterNode', '_execute') &&
  typeof connection['isOpen'] === 'boolean' &&
  typeof connection['isReady'] === 'boolean';
