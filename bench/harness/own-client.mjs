// In a thread, which keeps its client of this library from `open` until `close`.

export let client;

export async function open({ target, connectionTo, loadLibrary }) {
  client = await (await loadLibrary('ours')).open({ connection: connectionTo(target) });
}

export async function close() {
  await client?.close();
  client = undefined;
}
