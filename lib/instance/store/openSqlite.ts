import { DatabaseSync } from '@photostructure/sqlite';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { schema, schemaVersion } from './sqliteSchema.ts';
import { SqliteStore } from './sqliteStore.ts';
import { StoreUnusable } from './store.ts';
import type { Store } from './store.ts';

/**
 * Opens the store in a SQLite file, or makes it. Nothing is changed in a file that this program cannot use.
 *
 * Errors: {@link StoreUnusable} with words for a person: the file is no database, is damaged, or is from a newer program.
 *
 * @param file - Path of the database; its folder exists.
 */
export function openSqlite(file: string): Store {
  const database = opened(file);
  try {
    prepare(database, file);
  } catch (error) {
    database.close();
    throw error instanceof StoreUnusable ? error : unusable(file, error);
  }
  return new SqliteStore(database);
}

function opened(file: string): DatabaseSyncInstance {
  try {
    return new DatabaseSync(file);
  } catch (error) {
    throw unusable(file, error);
  }
}

function prepare(database: DatabaseSyncInstance, file: string): void {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version > schemaVersion) {
    const message = `${file} was written by a newer fountain (data format ${version}, this one knows ${schemaVersion}); use that one`;
    throw new StoreUnusable('newer', message);
  }
  check(database, file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000');
  if (version === 0) database.exec(`BEGIN IMMEDIATE; ${schema}; PRAGMA user_version = ${schemaVersion}; COMMIT`);
}

/** Above this size, in bytes, a whole check would delay the start by more than a moment. */
const quickCheckLimit = 256 * 1024 * 1024;

function check(database: DatabaseSyncInstance, file: string): void {
  const { size } = database
    .prepare('SELECT page_count * page_size AS size FROM pragma_page_count(), pragma_page_size()')
    .get() as { size: number };
  if (size > quickCheckLimit) return;
  const row = database.prepare('PRAGMA quick_check(1)').get() as { quick_check: string };
  if (row.quick_check !== 'ok') {
    const [finding] = row.quick_check.split('\n').slice(-1);
    throw new StoreUnusable('damaged', `the database ${file} is damaged (${finding ?? ''}); restore a copy, or move it away to start anew`);
  }
}

function unusable(file: string, error: unknown): StoreUnusable {
  const detail = error instanceof Error ? error.message : String(error);
  if (/readonly|unable to open|permission|EACCES|EROFS/i.test(detail)) {
    return new StoreUnusable('unwritable', `the database ${file} cannot be opened for writing (${detail})`, error);
  }
  return new StoreUnusable('damaged', `${file} cannot be used as a database (${detail}); restore a copy, or move it away to start anew`, error);
}
