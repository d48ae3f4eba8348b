import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { syncBuiltinESMExports } from 'node:module';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

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
syncBuiltinESMExports();

/**
 * The environment of a spec file: the process itself, since no spec file has a context of `node:vm` (`jest-runtime.cjs`).
 * At the end of a spec file it undoes what a later one would notice: changed variables of the process, and subscriptions
 * to diagnostics channels. Up to version 22, Node asks each storage that was ever used about each promise, so it also
 * disables the storages of the spec file.
 */
export default class ProcessEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;
  fakeTimersModern;
  #variables = { ...process.env };
  #exit = process.exit;
  #console = globalThis.console;

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    process.exit = this.#exit;
    globalThis.console = this.#console;
    for (const name of Object.keys(process.env)) if (!(name in this.#variables)) delete process.env[name];
    Object.assign(process.env, this.#variables);
    for (const storage of used) storage.disable();
    used.clear();
    for (const [name, listener] of subscriptions.splice(0)) diagnostics.unsubscribe(name, listener);
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
}
