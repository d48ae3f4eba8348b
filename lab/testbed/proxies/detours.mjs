// @ts-check

/**
 * How a client finds proxies if servers tell it their own addresses: the `natMap` of ioredis.
 * @param {ReadonlyArray<{ readonly host: string, readonly port: number }>} servers
 * @param {ReadonlyArray<{ readonly host: string, readonly port: number }>} proxies in the same order
 * @returns {Record<string, { host: string, port: number }>}
 */
export const detours = (servers, proxies) =>
  Object.fromEntries(
    servers.flatMap((server, i) => {
      const proxy = proxies[i];
      return proxy === undefined ? [] : [[`${server.host}:${server.port}`, { host: proxy.host, port: proxy.port }]];
    }),
  );
