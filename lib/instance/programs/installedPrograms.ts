import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The fixture program as it is installed in a sandbox. */
export interface InstalledProgram {
  /** The whole program, one self-contained ECMAScript module for Node 18 or newer. */
  readonly text: string;
  /** SHA-256 of its bytes, in lower-case hex. */
  readonly sha256: string;
}

/**
 * Returns the text of the fixture program and its digest.
 *
 * Throws in words where the package is not built.
 *
 * @see Fountain HTTP and SSE contract, "Installation"
 */
export function fixtureProgram(): InstalledProgram {
  const file = builtFile('fixture.mjs');
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new Error(`there is no built program at ${file}; run "npm run build"`, { cause: error });
  }
  return { text: bytes.toString('utf8'), sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Path of the demo agent's program, for this Node to run. */
export function demoProgram(): string {
  return builtFile('demo-agent.cjs');
}

/** Bundles lie side by side; from the sources, which the specs run, `dist` is at the root of the checkout. */
function builtFile(name: string): string {
  const fromSources = import.meta.url.endsWith('.ts');
  return fileURLToPath(new URL(fromSources ? `../../../dist/${name}` : name, import.meta.url));
}
