// @ts-check
/**
 * Makes a connection that a proxy passes on go deaf, as where a NAT, a load balancer or a sidecar has forgotten it: what
 * either end sends gets lost, and the client does not hear of an end. The proxy keeps both sockets, and ends them when it
 * is healed or closed; it may listen for `close` on them.
 *
 * @param {import('node:net').Socket} client the proxy's socket to the client
 * @param {import('node:net').Socket} server the proxy's socket to the server
 * @param {DeafLink} how
 */
export function deafen(client, server, { serverNotices }) {
  for (const socket of [client, server]) {
    for (const event of ['data', 'end', 'error', 'close']) socket.removeAllListeners(event);
    socket.on('error', () => undefined);
    // What comes is read, and dropped: nobody's window fills up.
    socket.resume();
  }
  if (serverNotices) server.destroy();
}

/**
 * Makes a connection go mute: what the client sends gets lost for good, and what the server sends arrives. Neither end
 * hears of an end. As `deafen` otherwise.
 *
 * @param {import('node:net').Socket} client the proxy's socket to the client
 * @param {import('node:net').Socket} server the proxy's socket to the server
 */
export function mute(client, server) {
  for (const socket of [client, server]) {
    for (const event of ['data', 'end', 'error', 'close']) socket.removeAllListeners(event);
    socket.on('error', () => undefined);
  }
  client.resume();
  server.on('data', (chunk) => client.write(chunk));
  server.resume();
}

/**
 * @typedef {object} DeafLink
 * @property {boolean} serverNotices whether the server sees the connection end; or else it goes on to send to it
 */
