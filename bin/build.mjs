// Bundles lib/ into dist/*.cjs: one file for the way from stdin to stdout, one for each part that is loaded lazily.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const lib = path.join(root, 'lib');
const outdir = path.join(root, 'dist');
const programs = path.join(lib, 'instance', 'programs');
const entries = new Map([
  ['fountain', path.join(lib, 'main.ts')],
  ['demo-agent', path.join(programs, 'demo.ts')],
]);

function inModules(file) {
  return path.join(root, 'node_modules', file);
}

/** A relative `import()` becomes a bundle of its own, so that what `initialize` does not need costs it nothing. */
const lazyBundles = {
  name: 'lazy-bundles',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^\.\.?\// }, (args) => {
      if (args.kind !== 'dynamic-import') return undefined;
      const source = path.resolve(args.resolveDir, args.path);
      const name = path.relative(lib, source).replace(/\.ts$/, '').replaceAll(path.sep, '-');
      entries.set(name, source);
      return { path: `./${name}.cjs`, external: true };
    });
  },
};

/** Clipanion asks for the terminal's colours as it loads, which costs more than all its parsing; we say ourselves when to use them. */
const plainPlatform = {
  name: 'plain-platform',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^\.\.\/platform$/ }, ({ importer }) =>
      importer.includes(`${path.sep}clipanion${path.sep}`) ? { path: inModules('clipanion/lib/platform/browser.mjs') } : undefined,
    );
  },
};

rmSync(outdir, { recursive: true, force: true });
const built = new Set();
for (const [name, source] of entries) {
  if (built.has(name)) continue;
  built.add(name);
  await build({
    entryPoints: { [name]: source },
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    // By their entries for Node these come as CommonJS, which can't be shaken.
    alias: { rxjs: inModules('rxjs/dist/esm/index.js'), clipanion: inModules('clipanion/lib/advanced/index.mjs'), typanion: inModules('typanion/lib/index.mjs') },
    mainFields: ['module', 'main'],
    external: ['@photostructure/sqlite'],
    supported: { 'dynamic-import': false },
    // Shorter source is read faster; names stay, for whoever reads a report.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'linked',
    define: { 'import.meta.url': '__bundleUrl' },
    banner: { js: "const __bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
    plugins: [lazyBundles, plainPlatform],
    absWorkingDir: root,
    logLevel: 'warning',
  });
}

// The fixture is installed in sandboxes as one file, where an older Node may run it.
await build({
  entryPoints: { fixture: path.join(programs, 'fixture.ts') },
  outdir,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node18',
  absWorkingDir: root,
  logLevel: 'warning',
});
