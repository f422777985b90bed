import { randomUUID } from 'node:crypto';
import type { AccountOptions } from './config.ts';
import type { DataFolder } from './data/dataFolder.ts';
import type { EngineContext } from './engine/context.ts';
import { newAgent } from './http/routes/agents.ts';
import { newKey } from './keys.ts';
import { passwordHash } from './passwords.ts';
import { detectRuntimes } from './runtimes.ts';
import type { AccountRow } from './store/rows.ts';
import { insert, UniqueViolation } from './store/store.ts';
import { rowTime } from './time.ts';

/** The address of the account that the data folder's own key belongs to. */
const localEmail = 'local@localhost';

const keyName = 'key';
const offeredName = 'offered-agents';

/** The model of each ready agent; `default` leaves the choice to the coding agent. */
const models: Readonly<Record<string, string>> = { demo: 'fountain/demo', claude: 'anthropic/default', codex: 'openai/default', gemini: 'google/default', opencode: 'anthropic/default' };

/** Who uses an instance on this machine. */
export interface LocalAccount {
  readonly id: string;
  readonly key: string;
}

/**
 * Makes what a start needs and is not there yet: the local account, its key in a file, configured accounts, ready agents.
 *
 * An agent is offered once: one that was deleted does not come back.
 */
export async function prepareAccounts(context: EngineContext, folder: DataFolder): Promise<LocalAccount> {
  const { store, config } = context;
  const [first] = await store.find('accounts', { email: localEmail });
  const local = first ?? (await makeAccount(context, { email: localEmail }));
  for (const account of config.accounts) {
    if ((await store.count('accounts', { email: account.email.toLowerCase() })) === 0) await makeAccount(context, account);
  }
  const key = (await folder.read(keyName))?.trim() ?? newKey();
  if ((await context.keys.find(key)) === undefined) await context.keys.mint({ accountId: local.id, scope: 'full', conversationId: null }, key);
  await folder.write(keyName, `${key}\n`);
  await offerAgents(context, folder, local.id);
  return { id: local.id, key };
}

async function makeAccount({ store }: EngineContext, { id, email, password }: AccountOptions): Promise<AccountRow> {
  const hash = password === undefined ? null : await passwordHash(password);
  const row: AccountRow = { id: id ?? randomUUID(), email: email.toLowerCase(), password: hash, role: 'user', inserted_at: rowTime() };
  await store.commit([insert('accounts', row)]);
  return row;
}

async function offerAgents({ store, config }: EngineContext, folder: DataFolder, accountId: string): Promise<void> {
  const offered = new Set(((await folder.read(offeredName)) ?? '').split('\n').filter((name) => name !== ''));
  for (const runtime of ['demo', ...detectRuntimes(config.env)]) {
    if (offered.has(runtime)) continue;
    offered.add(runtime);
    const agent = newAgent({ accountId }, { name: runtime, runtime, model: models[runtime] ?? null });
    // Somebody may have made an agent of this name.
    await store.commit([insert('agents', agent)]).catch((error: unknown) => {
      if (!(error instanceof UniqueViolation)) throw error;
    });
  }
  await folder.write(offeredName, [...offered, ''].join('\n'));
}
