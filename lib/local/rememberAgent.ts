import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeDataFolder } from './dataFolder.ts';

/** The agent of a user who chose none: it is always there. */
const firstAgent = 'demo';

/** Returns the agent that the user chose last for the local instance, by name or id; `demo` before any choice. */
export function rememberedAgent(dataFolder: string): string {
  try {
    return readFileSync(agentFile(dataFolder), 'utf8').trim() || firstAgent;
  } catch {
    return firstAgent;
  }
}

/** Stores the user's choice. A folder that cannot be written costs the memory only, so nothing is thrown. */
export function rememberAgent(dataFolder: string, agent: string): void {
  if (rememberedAgent(dataFolder) === agent) return;
  try {
    makeDataFolder(dataFolder);
    // Several clients may store at once: each renames a file of its own.
    const own = `${agentFile(dataFolder)}.${process.pid}`;
    writeFileSync(own, `${agent}\n`, { mode: 0o600 });
    renameSync(own, agentFile(dataFolder));
  } catch {
    // The next client starts with the agent that was stored before.
  }
}

function agentFile(dataFolder: string): string {
  return path.join(dataFolder, 'agent');
}
