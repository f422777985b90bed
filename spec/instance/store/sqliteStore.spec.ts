import path from 'node:path';
import { openSqlite } from '../../../lib/instance/store/openSqlite.ts';
import { cleanUp, temporaryFolder } from '../support/testInstance.ts';
import { describeStore } from './storeContract.ts';

describe('SqliteStore', () => {
  afterEach(cleanUp);
  describeStore(async () => openSqlite(path.join(await temporaryFolder(), 'store.db')));
});
