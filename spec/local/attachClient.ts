// A client in a process of its own: attaches with the fake server and prints what it got as JSON.
import { fileURLToPath } from 'node:url';
import { attachLocal } from '../../lib/local/attachLocal.ts';

const fake = fileURLToPath(new URL('fakeServe.mjs', import.meta.url));
const instance = await attachLocal({ command: [process.execPath, fake] });
process.stdout.write(JSON.stringify(instance));
