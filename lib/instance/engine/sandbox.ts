import type { SandboxRow, SandboxStatus } from '../store/rows.ts';
import { update } from '../store/store.ts';
import type { Write } from '../store/store.ts';
import { rowTime } from '../time.ts';
import type { SandboxFolder } from './sandboxFolder.ts';

/** How a machine is taken from its conversations. */
export interface SandboxEnd {
  readonly event: 'suspended' | 'reclaimed' | 'reset';
  readonly reason: string;
  readonly message: string;
  readonly by?: string;
}

/** A conversation, as the machine that it runs on sees it. */
export interface SandboxMember {
  readonly id: string;
  readonly runtime: string;
  readonly isMidTurn: boolean;
  /**
   * Takes the conversation off its machine: says why, ends a running turn, and stops its processes.
   *
   * @param change - The machine's own change, written with the event.
   */
  loseSandbox(end: SandboxEnd, change: Write): Promise<void>;
}

/** Runtimes of which one turn at a time runs on a machine. */
const exclusiveRuntimes = new Set(['opencode', 'gemini', 'fountain-fixture']);

/** A machine in this process: its row and the conversations on it. */
export class Sandbox {
  readonly folder: SandboxFolder;
  readonly members = new Set<SandboxMember>();
  #row: SandboxRow;
  #activeAt = Date.now();
  #resumedAt = Date.now();

  constructor(row: SandboxRow, folder: SandboxFolder) {
    this.#row = row;
    this.folder = folder;
  }

  /** The row as it is, or is being written. */
  get row(): SandboxRow {
    return this.#row;
  }

  /** Returns the write of a new status. */
  change(status: SandboxStatus): Write {
    const now = rowTime();
    const resumed = status === 'ready' && this.#row.status === 'suspended';
    if (status === 'ready') this.#resumedAt = Date.now();
    const set = { status, updated_at: now, ...(resumed ? { last_resumed_at: now } : {}) };
    this.#row = { ...this.#row, ...set };
    this.touch();
    return update('sandboxes', this.#row.id, set);
  }

  /** Takes note that something happened here. */
  touch(): void {
    this.#activeAt = Date.now();
  }

  /** Whether any conversation runs a turn here. */
  get isMidTurn(): boolean {
    return [...this.members].some((member) => member.isMidTurn);
  }

  /** Whether another conversation's turn keeps this one's from starting. */
  isTakenFor(member: SandboxMember): boolean {
    if (!exclusiveRuntimes.has(member.runtime)) return false;
    return [...this.members].some((other) => other !== member && other.isMidTurn && other.runtime === member.runtime);
  }

  /** Milliseconds since something happened here. */
  get idleMs(): number {
    return Date.now() - this.#activeAt;
  }

  /** Milliseconds since it was made or last resumed. */
  get ageMs(): number {
    return Date.now() - this.#resumedAt;
  }
}
