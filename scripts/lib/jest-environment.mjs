import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { TestEnvironment } from 'jest-environment-node';

/** The storages that the current spec file has used: its own ones, and one of Jest. */
const used = new Set();

for (const method of ['run', 'enterWith']) {
  const original = AsyncLocalStorage.prototype[method];
  AsyncLocalStorage.prototype[method] = function (...args) {
    used.add(this);
    return original.apply(this, args);
  };
}

/** The subscriptions to diagnostics channels that the current spec file has made. */
const subscriptions = [];

const { subscribe } = diagnostics;
diagnostics.subscribe = (name, listener) => {
  subscriptions.push([name, listener]);
  subscribe(name, listener);
};

/**
 * The environment of Jest for Node. Up to version 22, Node asks each storage that was ever used about each promise, and
 * every spec file brings new ones: so each file disables its own at the end. Diagnostics channels belong to the whole
 * process: each file ends its subscriptions, or a later file would seem to have observers.
 */
export default class NodeEnvironment extends TestEnvironment {
  async teardown() {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
    for (const [name, listener] of subscriptions.splice(0)) diagnostics.unsubscribe(name, listener);
  }
}
