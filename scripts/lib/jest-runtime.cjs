'use strict';

const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, isAbsolute, join, sep } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');
const vm = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** Where the test framework of Jest keeps its listeners on the global object. */
const LISTENERS = Symbol.for('EVENT_HANDLERS');

const GLOBALS = '@jest/globals';
const NODE_MODULES = `${sep}node_modules${sep}`;
const FORMAT = {
  isInternalModule: false,
  supportsDynamicImport: true,
  supportsExportNamespaceFrom: true,
  supportsStaticESM: true,
  supportsTopLevelAwait: true,
};

/** The modules that all spec files of this process share, by path or name, and the source maps of all modules. */
const sharedModules = new Map();
const sourceMaps = new Map();
/** Ends when no module is being linked: a module that is cannot be linked by a second import. */
let linked = Promise.resolve();
/** By module, its evaluation. */
const evaluations = new WeakMap();
/** By path, the compiled modules of the test framework. */
const frameworks = new Map();
/** Nest's logger and its first state: each application sets it for the whole process. */
let nest;

/**
 * The runtime of Jest, without a context of `node:vm` for each spec file. In a context, each spec file loads Nest, the
 * Redis clients, the library and Jest's own modules again, which takes half a second, and each use of a global variable
 * is slow. Here all modules run in the context of the process. Packages, the library and files that end with `.mjs` are
 * loaded once for each process. The spec file and the other files of tests are loaded for each spec file, since they may
 * call `beforeEach` and the like when they are loaded.
 */
module.exports = class ProcessRuntime extends Runtime {
  #library = join(this._config.rootDir, 'lib', sep);
  #modules = new Map();

  constructor(...terms) {
    super(...terms);
    // A module outlives the spec file that has loaded it first.
    this.transformCache.sourceMaps = sourceMaps;
  }

  /** Evaluates the test framework again for each spec file: the module has the state of one. */
  requireInternalModule(path) {
    delete globalThis[LISTENERS];
    const evaluate = once(frameworks, path, () => {
      const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
      return vm.compileFunction(readFileSync(path, 'utf8'), parameters, { filename: path });
    });
    const module = { exports: {} };
    evaluate(module.exports, createRequire(path), module, path, dirname(path));
    return module.exports;
  }

  teardown() {
    super.teardown();
    if (nest !== undefined) Object.assign(nest.Logger, nest.state);
  }

  /** In a context, it would return modules of the context. */
  installGetBuiltinModule() {}

  async unstable_importModule(path) {
    return this.#evaluate(await this.#moduleAt(path));
  }

  async #evaluate(module) {
    linked = linked.then(() => {
      if (module.status === 'unlinked') return module.link((name, { identifier }) => this.#moduleFor(name, identifier));
    });
    const own = linked;
    linked = own.catch(() => undefined);
    await own;
    if (!evaluations.has(module)) evaluations.set(module, module.evaluate());
    await evaluations.get(module);
    return module;
  }

  /** The module that a name means in a file. */
  #moduleFor(name, from) {
    if (name === GLOBALS && !this.#isShared(from)) {
      return once(this.#modules, name, () => moduleOf(name, this.jestGlobals.cjsGlobals(from)));
    }
    const path = this.#pathOf(name, from);
    const isFile = isAbsolute(path) && !path.includes(NODE_MODULES);
    if (name === GLOBALS || (isFile && this.#isShared(from) && !this.#isShared(path))) {
      throw new Error(
        `${from} is loaded once for all spec files. It cannot import ${name}, which belongs to one of them.`,
      );
    }
    if (isFile && !path.endsWith('.cjs')) return this.#moduleAt(path);
    const url = isFile ? pathToFileURL(path).href : name;
    return once(sharedModules, url, () => this.#importNatively(url));
  }

  async #importNatively(url) {
    const values = await import(url);
    if (url === '@nestjs/common') {
      const { Logger } = values;
      nest ??= { Logger, state: { staticInstanceRef: Logger.staticInstanceRef, logLevels: Logger.logLevels } };
    }
    return moduleOf(url, values);
  }

  #pathOf(name, from) {
    if (name.startsWith('file:')) return fileURLToPath(name);
    return /^(data|node):/.test(name) ? name : this._resolution.resolveEsm(from, name);
  }

  #isShared(path) {
    return path.startsWith(this.#library) || /\.[cm]js$/.test(path);
  }

  #moduleAt(path) {
    return once(this.#isShared(path) ? sharedModules : this.#modules, path, () => this.#read(path));
  }

  #read(path) {
    if (path.endsWith('.json')) return moduleOf(path, { default: JSON.parse(readFileSync(path, 'utf8')) });
    return new vm.SourceTextModule(this.transformCache.transform(path, FORMAT), {
      identifier: path,
      importModuleDynamically: async (name) => this.#evaluate(await this.#moduleFor(name, path)),
      initializeImportMeta: (meta) => {
        meta.url = pathToFileURL(path).href;
        meta.filename = path;
        meta.dirname = dirname(path);
      },
    });
  }
};

function once(modules, name, make) {
  if (!modules.has(name)) modules.set(name, make());
  return modules.get(name);
}

/** A module that exports these values. */
function moduleOf(identifier, values) {
  const names = Object.keys(values);
  const module = new vm.SyntheticModule(names, () => names.forEach((name) => module.setExport(name, values[name])), {
    identifier,
  });
  return module;
}
