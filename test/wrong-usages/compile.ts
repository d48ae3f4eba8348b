import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The strict options of the project, and what is different. */
export function compilerOptions(changes: ts.CompilerOptions): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
  return { ...ts.parseJsonConfigFileContent(config, ts.sys, ROOT).options, noEmit: true, ...changes };
}

/** What the compiler says about each of these texts, by the paths at which they would be; with lines from 0. */
export function complaintsOf(
  texts: ReadonlyMap<string, string>,
  options: ts.CompilerOptions,
): Map<string, Array<{ line: number; text: string }>> {
  const directories = [...texts.keys()].map(dirname);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile, directoryExists } = host;
  host.fileExists = (path) => texts.has(resolve(path)) || fileExists.call(host, path);
  host.readFile = (path) => texts.get(resolve(path)) ?? readFile.call(host, path);
  host.directoryExists = (path) =>
    directories.some((each) => each.startsWith(resolve(path))) || (directoryExists?.call(host, path) ?? true);
  host.getSourceFile = (path, version, ...more) => {
    const text = texts.get(resolve(path));
    return text === undefined
      ? getSourceFile.call(host, path, version, ...more)
      : ts.createSourceFile(path, text, version, true);
  };
  const program = ts.createProgram([...texts.keys()], options, host);
  const complaints = [...texts.keys()].map((path) => {
    const file = program.getSourceFile(path)!;
    const found = [...program.getSemanticDiagnostics(file), ...program.getSyntacticDiagnostics(file)];
    const said = found.map(({ messageText, start = 0 }) => ({
      line: file.getLineAndCharacterOfPosition(start).line,
      text: ts.flattenDiagnosticMessageText(messageText, '\n'),
    }));
    return [path, said] as const;
  });
  return new Map(complaints);
}
