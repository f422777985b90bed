/** Number of the layout below, kept in the database; a database with a higher number was made by a newer program. */
export const schemaVersion = 1;

/**
 * The layout of a new SQLite database. `seq` orders rows by insertion; the other columns are those of the row types.
 *
 * Events point at a conversation by number: a third of a short event would otherwise be its conversation's id, three times over.
 */
export const schema = `
CREATE TABLE accounts (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, email TEXT NOT NULL UNIQUE, password TEXT, role TEXT NOT NULL,
  inserted_at TEXT NOT NULL
);
CREATE TABLE agents (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL, description TEXT, system TEXT NOT NULL, model TEXT, runtime TEXT NOT NULL, runtime_command TEXT,
  sandbox_provider TEXT, sandbox_mode TEXT NOT NULL, environment_id TEXT, skills TEXT NOT NULL, mcp_servers TEXT NOT NULL,
  metadata TEXT NOT NULL, allowed_vault_ids TEXT, allowed_environment_ids TEXT, permission_policy TEXT NOT NULL,
  inserted_at TEXT NOT NULL, updated_at TEXT NOT NULL, UNIQUE (account_id, name)
);
CREATE TABLE vaults (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL, description TEXT, metadata TEXT NOT NULL, inserted_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  UNIQUE (account_id, name)
);
CREATE TABLE environments (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL, packages TEXT NOT NULL, env_vars TEXT NOT NULL, setup_script TEXT NOT NULL, networking_type TEXT NOT NULL,
  networking_config TEXT NOT NULL, repositories TEXT NOT NULL, metadata TEXT NOT NULL, inserted_at TEXT NOT NULL,
  updated_at TEXT NOT NULL, UNIQUE (account_id, name)
);
CREATE TABLE secrets (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner_id TEXT NOT NULL, key TEXT NOT NULL, sealed TEXT NOT NULL,
  inserted_at TEXT NOT NULL, UNIQUE (owner_id, key)
);
CREATE TABLE sandboxes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES accounts (id),
  sprite_name TEXT NOT NULL, status TEXT NOT NULL, mode TEXT NOT NULL, agent_id TEXT, environment_id TEXT, vault_id TEXT,
  runtime TEXT NOT NULL, last_resumed_at TEXT, inserted_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX sandboxes_by_status ON sandboxes (account_id, status);
CREATE TABLE conversations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES accounts (id),
  agent_id TEXT REFERENCES agents (id) ON DELETE SET NULL, agent TEXT NOT NULL, vault_id TEXT, environment_id TEXT,
  permission_policy TEXT NOT NULL, status TEXT NOT NULL, sandbox_id TEXT, runtime_session_id TEXT, title TEXT, title_source TEXT,
  first_prompt TEXT, turn_count INTEGER NOT NULL, source TEXT NOT NULL, parent_conversation_id TEXT, channel_id TEXT,
  labels TEXT NOT NULL, sandbox_api_access TEXT NOT NULL, usage_input INTEGER NOT NULL, usage_output INTEGER NOT NULL,
  output_bytes INTEGER NOT NULL, last_output_at TEXT, last_read_at TEXT, inserted_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX conversations_by_account ON conversations (account_id);
CREATE INDEX conversations_by_agent ON conversations (agent_id);
CREATE INDEX conversations_by_channel ON conversations (account_id, channel_id) WHERE channel_id IS NOT NULL;
CREATE INDEX conversations_by_parent ON conversations (parent_conversation_id) WHERE parent_conversation_id IS NOT NULL;
CREATE INDEX conversations_by_sandbox ON conversations (sandbox_id);
CREATE INDEX conversations_by_status ON conversations (status);
CREATE TABLE keys (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES accounts (id),
  digest TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL, scope TEXT NOT NULL,
  conversation_id TEXT REFERENCES conversations (id) ON DELETE CASCADE, inserted_at TEXT NOT NULL
);
CREATE INDEX keys_by_conversation ON keys (conversation_id) WHERE conversation_id IS NOT NULL;
CREATE TABLE turns (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE, turn_number INTEGER NOT NULL, status TEXT NOT NULL,
  prompt TEXT NOT NULL, image_count INTEGER NOT NULL, exit_code INTEGER, usage TEXT, client_request_id TEXT, started_at TEXT,
  ended_at TEXT, inserted_at TEXT NOT NULL, UNIQUE (conversation_id, turn_number)
);
CREATE INDEX turns_open ON turns (status) WHERE status IN ('pending', 'running');
CREATE TABLE images (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, turn_id TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
  position INTEGER NOT NULL, media_type TEXT NOT NULL, data BLOB NOT NULL, UNIQUE (turn_id, position)
);
CREATE TABLE processes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, sandbox_id TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL
);
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL REFERENCES conversations (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL, stream TEXT NOT NULL, data TEXT NOT NULL, stage TEXT NOT NULL, state TEXT NOT NULL, duration_ms INTEGER,
  turn_id TEXT, ts TEXT NOT NULL
);
CREATE INDEX events_by_conversation ON events (conversation, id);
CREATE INDEX events_of_stages ON events (conversation, id) WHERE kind = 'stage';
`;
