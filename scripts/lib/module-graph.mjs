import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StepFailed } from './run.mjs';

/** Nest has ES modules only since version 12, which Jest cannot load from CommonJS. Other packages are CommonJS to Node. */
const OF_A_FORMAT = /^@nestjs\//;

/**
 * The imports of the compiled modules in `directory`. `ending` is `.js` for code and `.d.ts` for declarations. A module
 * that reaches no package of a format is neutral: ES modules and CommonJS can share one copy of it.
 */
export async function readModuleGraph(directory, ending) {
  const { default: ts } = await import('typescript');
  const modules = new Map();
  for (const path of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith(ending)) continue;
    const file = join(directory, path);
    modules.set(file, readImports(ts, file, ending));
  }
  return new ModuleGraph(modules);
}

class ModuleGraph {
  #modules;
  #bound;

  constructor(modules) {
    this.#modules = modules;
    this.#bound = new Set([...modules].filter(([, imports]) => imports.some(isOfFormat)).map(([file]) => file));
    for (let before = -1; before !== this.#bound.size;) {
      before = this.#bound.size;
      for (const [file, imports] of modules)
        if (imports.some(({ from }) => this.#bound.has(from))) this.#bound.add(file);
    }
  }

  isNeutral(file) {
    return !this.#bound.has(file);
  }

  /** The file itself and every file that it imports, directly or not. */
  reach(file, reached = new Set()) {
    if (reached.has(file) || !this.#modules.has(file)) return reached;
    reached.add(file);
    for (const { from } of this.#modules.get(file)) this.reach(from, reached);
    return reached;
  }

  imports(file) {
    return this.#modules.get(file);
  }
}

const isOfFormat = ({ from }) => OF_A_FORMAT.test(from);

/** Each import and re-export of a file: from where, and which names. */
function readImports(ts, file, ending) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const imports = [];
  const add = (specifier, names) => {
    const isRelative = specifier.startsWith('.');
    if (isRelative && names === undefined) {
      throw new StepFailed(`${file}: import and export the names of "${specifier}", not all of it`);
    }
    const from = isRelative ? join(dirname(file), specifier.replace(/\.js$/, ending)) : specifier;
    imports.push({ from, names: names ?? [] });
  };
  const visit = (node) => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier.text, namesIn(ts, node.importClause?.namedBindings));
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
      add(node.moduleSpecifier.text, namesIn(ts, node.exportClause));
    } else if (ts.isImportTypeNode(node)) {
      add(node.argument.literal.text, node.qualifier ? [leftmost(node.qualifier).text] : undefined);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier.text?.startsWith('.')) add(specifier.text, []);
    }
    node.forEachChild(visit);
  };
  visit(source);
  return imports;
}

function namesIn(ts, bindings) {
  if (!bindings || !(ts.isNamedImports(bindings) || ts.isNamedExports(bindings))) return undefined;
  return bindings.elements.map(({ propertyName, name }) => (propertyName ?? name).text);
}

const leftmost = (name) => (name.left ? leftmost(name.left) : name);
