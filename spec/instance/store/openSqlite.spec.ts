import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openSqlite } from '../../../lib/instance/store/openSqlite.ts';
import { insert, StoreUnusable } from '../../../lib/instance/store/store.ts';
import { cleanUp, temporaryFolder } from '../support/testInstance.ts';
import { accountRow } from './storeContract.ts';

describe('openSqlite', () => {
  let file: string;

  beforeEach(async () => {
    file = path.join(await temporaryFolder(), 'store.db');
  });

  afterEach(cleanUp);

  function failure(): StoreUnusable {
    try {
      openSqlite(file);
    } catch (error) {
      if (error instanceof StoreUnusable) return error;
      throw error;
    }
    throw new Error('the database was opened');
  }

  it('should find what was stored when it is opened again', async () => {
    const row = accountRow();
    const store = openSqlite(file);
    await store.commit([insert('accounts', row)]);
    await store.close();
    const again = openSqlite(file);
    expect(await again.get('accounts', row.id)).to.deep.equal(row);
    await again.close();
  });

  it('should refuse and not touch a file that is no database', () => {
    writeFileSync(file, 'these are my notes and not a database\n'.repeat(100));
    const before = readFileSync(file);
    expect(failure()).to.include({ reason: 'damaged' });
    expect(failure().message).to.include(file);
    expect(readFileSync(file).equals(before)).to.equal(true);
  });

  it('should refuse and not touch data of a newer program', async () => {
    await openSqlite(file).close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 1000');
    database.close();
    const before = readFileSync(file);
    expect(failure()).to.include({ reason: 'newer' });
    expect(failure().message).to.match(/newer fountain \(data format 1000, this one knows \d+\)/);
    expect(readFileSync(file).equals(before)).to.equal(true);
  });

  it('should refuse a database with damaged pages', async () => {
    const store = openSqlite(file);
    await store.commit(Array.from({ length: 500 }, () => insert('accounts', accountRow())));
    await store.close();
    const bytes = readFileSync(file);
    // The header and the schema stay; what follows is overwritten.
    bytes.fill(0x5a, bytes.length - 24 * 1024, bytes.length - 4 * 1024);
    writeFileSync(file, bytes);
    expect(failure()).to.include({ reason: 'damaged' });
    expect(readFileSync(file).equals(bytes)).to.equal(true);
  });

  it('should refuse when the folder is not there', () => {
    file = path.join(file, 'deeper', 'store.db');
    expect(failure()).to.include({ reason: 'unwritable' });
  });
});
