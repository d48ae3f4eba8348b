export declare function assembleScript(directory: string, file: string): string;
export declare function stripComments(source: string): string;
