import { mkdirSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ENTRY_POINTS, INTERNALS, PROGRAMS, SMALL_ENTRY_POINTS } from './entries.mjs';
import { readModuleGraph } from './module-graph.mjs';

/** Where the modules are that both formats share: CommonJS, which ES modules can import. */
const CORE = 'cjs/core';
const SPECIFIER = /(['"])core:([\w-]+)\1/g;

/**
 * Joins compiled modules to few files: Node takes about a millisecond for each file that it has to load. Modules that
 * do not depend on Nest or rxjs stand in `dist/cjs/core` once, for CommonJS and for ES modules; the rest has a copy for
 * each (7 kB of the package). ES modules that export the CommonJS copy would `require` Nest, which is an ES module, and Node
 * 20 fails with ERR_INTERNAL_ASSERTION if the application imports Nest at the same time.
 */
export async function bundleCode(modules, dist) {
  writeInternals(modules);
  const graph = await readModuleGraph(modules, '.js');
  const internals = Object.fromEntries(Object.keys(INTERNALS).map((name) => [name, internalOf(name)]));
  const entries = { ...ENTRY_POINTS, ...internals, ...PROGRAMS };
  const core = new SharedCore(graph, { modules, entries, ending: '.js' });
  const plugins = [await squeezed()];
  // What several entry points use stands in one file: a call into another file of CommonJS costs time.
  const manualChunks = (path) => (core.isShared(path) ? 'core' : undefined);
  await core.writeHalf({ dist, format: 'esm', entries, options: optionsOf('esm'), plugins });
  await core.writeHalf({ dist, format: 'cjs', entries: ENTRY_POINTS, options: optionsOf('cjs'), plugins });
  await core.write({ dist, options: { ...optionsOf('cjs'), manualChunks }, plugins });
  // Above it, package.json says "module"; without this line Node would read the CommonJS files as ES modules.
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n');
}

/** The same for declarations: one file for each entry point, and one for their shared parts, once for both formats. */
export async function bundleDeclarations(modules, dist) {
  const { dts } = await import('rollup-plugin-dts');
  const graph = await readModuleGraph(modules, '.d.ts');
  const core = new SharedCore(graph, { modules, entries: ENTRY_POINTS, ending: '.d.ts' });
  const options = { format: 'es', minifyInternalExports: false };
  const plugins = [await hiddenConstructors(), dts()];
  await core.writeHalf({ dist, format: 'cjs', entries: ENTRY_POINTS, options, plugins });
  await core.write({ dist, options, plugins });
  // ES modules declare the same, and can import the types of CommonJS.
  for (const name of Object.keys(ENTRY_POINTS)) {
    const directory = posix.join('esm', posix.dirname(name));
    const path = posix.relative(directory, posix.join('cjs', name));
    mkdirSync(join(dist, directory), { recursive: true });
    writeFileSync(join(dist, 'esm', `${name}.d.ts`), `export * from '${path}.js';\n`);
  }
}

/** Divides the modules between the core and the halves, and bundles either. */
class SharedCore {
  #graph;
  #modules;
  #ending;
  /** neutral file → which file of the core it stands in */
  #homes = new Map();
  /** file of the core → neutral file → names that modules of a half import */
  #exports = new Map();
  /** The names that the bundled halves import. Declarations that no entry point uses are not in a bundle. */
  #used = new Set();

  constructor(graph, { modules, entries, ending }) {
    this.#graph = graph;
    this.#modules = modules;
    this.#ending = ending;
    const programs = new Set(Object.keys(PROGRAMS));
    const entryFiles = new Set(Object.values(entries).map((path) => this.#file(path)));
    const users = new Map();
    for (const [name, path] of Object.entries(entries)) {
      for (const file of graph.reach(this.#file(path))) users.set(file, [...(users.get(file) ?? []), name]);
    }
    for (const [file, names] of users) {
      const isOfProgram = names.every((name) => programs.has(name));
      if (!graph.isNeutral(file) || entryFiles.has(file) || isOfProgram) continue;
      const [only] = names.length === 1 ? names : ['index'];
      this.#homes.set(file, only === 'index' || SMALL_ENTRY_POINTS.has(only) ? 'core' : posix.dirname(only));
    }
    for (const file of users.keys()) if (!this.#homes.has(file)) this.#collectNames(file);
  }

  /** Whether a file is part of the core that all entry points share, or exports it. */
  isShared(file) {
    return this.#homes.get(file) === 'core' || file === this.#file('core-core');
  }

  #file(path) {
    return join(this.#modules, `${path}${this.#ending}`);
  }

  #collectNames(half) {
    for (const { from, names } of this.#graph.imports(half)) {
      const home = this.#homes.get(from);
      if (home === undefined) continue;
      const files = this.#exports.get(home) ?? new Map();
      this.#exports.set(home, files);
      files.set(from, new Set([...(files.get(from) ?? []), ...names]));
    }
  }

  /** Writes what the halves use, which are written before. */
  async write({ dist, options, plugins }) {
    const input = {};
    for (const [home, files] of this.#exports) {
      input[home] = this.#file(`core-${home}`);
      const lines = [...files].map(([file, names]) => {
        const specifier = `./${posix.relative(this.#modules, file).slice(0, -this.#ending.length)}.js`;
        const used = [...names].filter((name) => this.#used.has(name));
        return `export { ${used.sort().join(', ')} } from '${specifier}';\n`;
      });
      writeFileSync(input[home], lines.join(''));
    }
    await writeBundle({
      input,
      plugins,
      options: { ...options, ...this.#fileNames(), dir: join(dist, CORE) },
      // Otherwise the core would have a second file, which only exports the names.
      preserveEntrySignatures: 'allow-extension',
    });
  }

  async writeHalf({ dist, format, entries, options, plugins }) {
    const input = Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, this.#file(path)]));
    const toCore = {
      name: 'import-from-core',
      resolveId: (name, importer) => {
        if (name.startsWith('core:')) return { id: name, external: true };
        if (importer === undefined || !name.startsWith('.')) return null;
        const home = this.#homes.get(join(importer, '..', name.replace(/\.js$/, this.#ending)));
        return home === undefined ? null : { id: `core:${home}`, external: true };
      },
      renderChunk: (code, { fileName }) => {
        const directory = posix.relative(posix.dirname(posix.join(format, fileName)), CORE);
        const path = directory.startsWith('.') ? directory : `./${directory}`;
        return { code: code.replace(SPECIFIER, (_, quote, home) => `${quote}${path}/${home}.js${quote}`), map: null };
      },
      generateBundle: (_, files) => {
        for (const { importedBindings } of Object.values(files))
          for (const name of Object.values(importedBindings).flat()) this.#used.add(name);
      },
    };
    const dir = join(dist, format);
    await writeBundle({ input, plugins: [toCore, ...plugins], options: { ...options, ...this.#fileNames(), dir } });
  }

  #fileNames() {
    return {
      entryFileNames: `[name]${this.#ending}`,
      // The names of declarations end with .d already.
      chunkFileNames: ({ name }) => `shared/${name.replace(/\.d$/, '')}${this.#ending}`,
    };
  }
}

const optionsOf = (format) => ({
  format: format === 'esm' ? 'es' : 'cjs',
  exports: 'named',
  // Of other packages names alone are imported, whichever format they have.
  interop: 'esModule',
  generatedCode: { preset: 'es2015', symbols: false },
  hoistTransitiveImports: false,
  minifyInternalExports: true,
});

async function writeBundle({ input, plugins, options, preserveEntrySignatures }) {
  // The script that installs rollup on a fresh machine imports this file, too.
  const { rollup } = await import('rollup');
  const bundled = await rollup({
    input,
    plugins,
    external: (name) => /^[@\w]/.test(name),
    // Decorators take effect when a class is defined.
    treeshake: false,
    preserveEntrySignatures,
    onLog: (level, { code, message }) => {
      if (level === 'warn' && !EXPECTED.test(code + message)) throw new Error(message);
    },
  });
  await bundled.write(options);
  await bundled.close();
}

/**
 * THIS_IS_UNDEFINED: it is undefined in an ES module anyway; the helpers of tsc ask for it. The other one: a type that
 * no entry point exports can be part of an exported one.
 */
const EXPECTED = /^THIS_IS_UNDEFINED|still references private shared type exports/;

async function squeezed() {
  const { squeeze, squeezeProgram } = await import('./squeeze.mjs');
  return {
    name: 'squeeze',
    renderChunk: (code, { name, moduleIds }, { format }) => ({
      code:
        name in PROGRAMS || moduleIds.every((path) => path.includes('/cli/'))
          ? squeezeProgram(code)
          : squeeze(code, format === 'cjs' ? 'script' : 'module'),
      map: null,
    }),
  };
}

/**
 * Nest or this library calls a constructor that is marked `@hidden`: its declaration names no type that is not exported. It
 * takes a text that a caller does not have by accident, and not `never`: then the class would be no `Type<T>` of Nest.
 */
async function hiddenConstructors() {
  const { default: ts } = await import('typescript');
  const isHidden = (node) => ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'hidden');
  return {
    name: 'hidden-constructors',
    transform(code, file) {
      const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
      const members = source.statements.filter(ts.isClassDeclaration).flatMap((node) => [...node.members]);
      let hidden = code;
      for (const node of members.filter(ts.isConstructorDeclaration).filter(isHidden).reverse())
        hidden = `${hidden.slice(0, node.getStart())}constructor(parts: 'Nest passes them');${hidden.slice(node.end)}`;
      return { code: hidden, map: null };
    },
  };
}

const internalOf = (name) => `internal-${posix.basename(name)}`;

function writeInternals(modules) {
  for (const [path, { module, name }] of Object.entries(INTERNALS)) {
    writeFileSync(join(modules, `${internalOf(path)}.js`), `export { ${name} } from './${module}.js';\n`);
  }
}
