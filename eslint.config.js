import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

const NODE_GLOBALS = [
  'AbortController',
  'AbortSignal',
  'Atomics',
  'Buffer',
  'SharedArrayBuffer',
  'URL',
  'clearInterval',
  'clearTimeout',
  'console',
  'fetch',
  'performance',
  'process',
  'setImmediate',
  'setInterval',
  'setTimeout',
  'structuredClone',
];

const BROWSER_GLOBALS = [
  'EventSource',
  'ResizeObserver',
  'URLSearchParams',
  'clearTimeout',
  'document',
  'fetch',
  'location',
  'performance',
  'setInterval',
  'setTimeout',
];

/** Node runs these files as they are, and `tsc` checks a file only if it begins with this comment. */
const TS_CHECK = {
  create: (context) => ({
    Program(node) {
      const [first] = context.sourceCode.getAllComments();
      if (first?.value.trim() === '@ts-check' && first.loc.start.line === 1) return;
      context.report({ node, message: 'Begin with `// @ts-check`.' });
    },
  }),
};

const withoutGlobals = (names) => Object.fromEntries(names.map((name) => [name, 'off']));
const asReadonlyGlobals = (names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

export default tseslint.config(
  {
    ignores: [
      '**/node_modules/',
      '**/dist/',
      'coverage/',
      'lib/**/*.generated.ts',
      'docs/api*.d.ts',
      'docs/.vitepress/cache/',
      'examples/prisma/generated/',
      // Each is a project of its own, and finds its packages where it is installed.
      'test/package/fixtures/nest-*/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts', '**/*.mts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `() => resolve()` is allowed in one line.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // Numbers are fine in messages.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // Index signatures are read with brackets: the compiler's noPropertyAccessFromIndexSignature requires it.
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      // Nest requires classes where functions would do.
      '@typescript-eslint/no-extraneous-class': 'off',
      // Types are structural here: an object with the same members may take the place of an instance.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // `async` is part of the contract: an error becomes a rejection.
      '@typescript-eslint/require-await': 'off',
      // Reasons of abort signals and causes can have any type.
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true, allowRethrowing: true }],
      // Some users write JavaScript, so the code may check what the types exclude.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Replies of Redis have the types that the code declares. A conversion makes that true.
      '@typescript-eslint/no-unnecessary-type-conversion': 'off',
      // A handler may name the class of its errors if only that class is possible.
      '@typescript-eslint/use-unknown-in-catch-callback-variable': 'off',
      // In signatures `any` accepts every type of the user. no-unsafe-* checks each use of such a value.
      '@typescript-eslint/no-explicit-any': 'off',
      // `!` says that an index is known to be right.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // A type parameter that is used once still checks what users write.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      eqeqeq: 'error',
      'no-console': 'error',
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
    },
  },
  {
    files: ['test/**/*.ts', 'lab/testbed/**/*.ts'],
    rules: {
      // `expect(mock.method)` and methods handed to helpers do not lose a `this` that they use.
      '@typescript-eslint/unbound-method': 'off',
      // Tests play users without types.
      '@typescript-eslint/no-deprecated': 'off',
      '@typescript-eslint/no-implied-eval': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-empty-function': 'off',
    },
  },
  {
    // Callers choose the length of keys and other texts.
    files: ['lib/**/*.ts', 'lib/**/*.js'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
    },
  },
  {
    // Without Nest, log lines have no other place.
    files: ['lib/client/lock-client.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['sample-app/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-console': 'off', '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
  {
    // They have node modules of their own, which need not be there: `npm run test:examples` compiles them.
    files: ['examples/**/*.ts'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { parserOptions: { experimentalDecorators: true, emitDecoratorMetadata: true } },
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
  {
    files: ['**/*.mjs', '**/*.cjs', '**/*.js'],
    extends: [tseslint.configs.recommended],
    languageOptions: { globals: asReadonlyGlobals(NODE_GLOBALS) },
    rules: {
      'no-undef': 'error',
      eqeqeq: 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['lab/testbed/**/*.mjs'],
    // The workers are scripts on the built library, whose declarations are not there before a build.
    ignores: ['lab/testbed/workers/*-worker.mjs'],
    plugins: { testbed: { rules: { 'ts-check': TS_CHECK } } },
    rules: { 'testbed/ts-check': 'error' },
  },
  {
    // What runs in browsers, and shows keys that others have named.
    files: ['lib/dashboard/page/*.js'],
    languageOptions: { globals: { ...withoutGlobals(NODE_GLOBALS), ...asReadonlyGlobals(BROWSER_GLOBALS) } },
    rules: {
      'no-restricted-properties': [
        'error',
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'setHTMLUnsafe', 'write'].map((property) => ({
          property,
          message: 'Texts are no HTML: write textContent, or element() of dom.js.',
        })),
      ],
    },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: asReadonlyGlobals(['module', 'require', '__dirname']) },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
);
