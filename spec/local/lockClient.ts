// Takes the lock of its first argument, proves that nobody else is inside, and ends without giving the lock back.
import { rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { takeStartLock } from '../../lib/local/startLock.ts';

const file = process.argv[2] ?? '';
while (takeStartLock(file) === null) await delay(1);
writeFileSync(`${file}.inside`, '', { flag: 'wx' });
await delay(5);
rmSync(`${file}.inside`);
