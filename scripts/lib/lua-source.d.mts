export interface ScriptPart {
  readonly name: string;
  readonly text: string;
}
export interface ExportedConstants {
  readonly comment: string;
  readonly constants: ReadonlyArray<readonly [name: string, value: number]>;
}
export declare function assembleScript(directory: string, file: string): string;
export declare function scriptParts(directory: string, file: string): ScriptPart[];
export declare function includesOf(directory: string, file: string): string[];
export declare function exportedConstants(directory: string, file: string): ExportedConstants[];
export declare function keyRoles(directory: string, file: string): string[];
export declare function stripComments(source: string): string;
