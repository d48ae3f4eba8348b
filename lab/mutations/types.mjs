import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { moduleOf, mutatedModule } from './mutate.mjs';

/** Errors about names that nothing uses, and code that nothing reaches. Mutations may leave such names and code behind. */
const UNUSED = new Set([6133, 6138, 6192, 6196, 6198, 6199, 7027]);

/**
 * Checks mutations with the compiler. A mutation that does not compile may fail in every laboratory, and proves nothing.
 */
export class TypeCheck {
  constructor() {
    const file = join(ROOT, 'tsconfig.json');
    const { fileExists, readFile, readDirectory, directoryExists, getDirectories, realpath } = ts.sys;
    const { config } = ts.readConfigFile(file, readFile);
    const { options, fileNames } = ts.parseJsonConfigFileContent({ ...config, include: ['lib'] }, ts.sys, ROOT);
    this.replaced = undefined;
    this.version = 0;
    this.service = ts.createLanguageService({
      getCompilationSettings: () => options,
      getScriptFileNames: () => fileNames,
      getScriptVersion: (name) => (name === this.replaced?.name ? String(this.version) : '0'),
      getScriptSnapshot: (name) => {
        const text = name === this.replaced?.name ? this.replaced.text : readFile(name);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => ROOT,
      getDefaultLibFileName: (each) => ts.getDefaultLibFilePath(each),
      ...{ fileExists, readFile, readDirectory, directoryExists, getDirectories, realpath },
    });
  }

  /**
   * @param {import('./mutate.mjs').Mutation} mutation
   * @returns {string[]} the compiler's errors about the changed file
   */
  errorsOf(mutation) {
    const name = join(ROOT, moduleOf(mutation));
    this.version += 1;
    this.replaced = { name, text: mutatedModule(mutation) };
    return [...this.service.getSyntacticDiagnostics(name), ...this.service.getSemanticDiagnostics(name)]
      .filter(({ code }) => !UNUSED.has(code))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  }
}
