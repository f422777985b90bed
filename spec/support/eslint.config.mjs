import rxjs from 'eslint-plugin-rxjs-x';
import tsdoc from 'eslint-plugin-tsdoc';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import tseslint from 'typescript-eslint';

const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));

/** Names of functions that return an Observable: the notation is for what holds one. */
const functionNames =
  '^(open|ask|call|answer|next|connect|write|start|wait|find|submit|again|recover|lookUp|idOf|found|countQuestion|once|read|me|agent|vaultId|environmentId|createConversation|conversation|prompt|interrupt|events|cold|hot)$';

/** The edge: where streams are subscribed and the outside world is touched. */
const edge = ['lib/main.ts', 'lib/cli.ts', 'lib/run.ts', 'lib/commands/**', 'lib/sources/**', 'lib/sinks/**', 'lib/client/**', 'lib/instance/**', 'lib/local/**'];

export default tseslint.config(
  { ignores: ['dist/**', 'coverage/**', 'node_modules/**'] },
  {
    files: ['lib/**/*.ts', 'spec/**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    plugins: { 'rxjs-x': rxjs, tsdoc },
    rules: {
      ...rxjs.configs.strict.rules,
      'rxjs-x/finnish': ['error', { functions: false, methods: false, parameters: true, properties: true, variables: true, names: { [functionNames]: false } }],
      'rxjs-x/no-ignored-error': 'off',
      'tsdoc/syntax': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      complexity: ['error', 12],
      'max-depth': ['error', 4],
    },
  },
  {
    files: ['lib/**/*.ts'],
    ignores: edge,
    rules: {
      'no-restricted-globals': ['error', 'console', 'process', 'setTimeout', 'setInterval', 'setImmediate'],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time comes from the scheduler.' },
        { object: 'Math', property: 'random', message: 'Randomness is injected.' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "CallExpression[callee.property.name='subscribe']", message: 'Subscribe only at the edge.' },
      ],
    },
  },
  {
    files: ['spec/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unused-expressions': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      complexity: 'off',
    },
  },
  { files: ['bin/*.mjs'], extends: [tseslint.configs.disableTypeChecked] },
);
