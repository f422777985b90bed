// Makes a fresh clone ready: installs what the lock file names and builds dist/, each only where it is missing or stale.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

function run(command, args) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  });
  if (status === 0) return;
  process.stderr.write(`fountain: "${command} ${args.join(' ')}" failed${error ? `: ${error.message}` : ''}\n`);
  process.exit(1);
}

/** Milliseconds since the epoch; -Infinity for a file that is not there. */
function changedAt(file) {
  return statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
}

function newestSource() {
  const sources = readdirSync(path.join(root, 'lib'), { recursive: true }).map((file) => path.join('lib', file));
  return Math.max(...sources.concat('bin/build.mjs', 'package.json').map(changedAt));
}

if (changedAt('node_modules/.package-lock.json') < changedAt('package-lock.json')) run('npm', ['ci']);
if (changedAt('dist/fountain.cjs') < newestSource()) run(process.execPath, ['bin/build.mjs']);
