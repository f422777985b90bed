// Stands in for `fountain serve`: notes each start, then behaves as FAKE_SERVE says: listens (after so many milliseconds,
// where it is a number), fails, or hangs. Like the real one it writes its key before, and instance.json after, it listens.
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';

const data = process.argv[process.argv.indexOf('--data') + 1];
const behaviour = process.env.FAKE_SERVE ?? '0';
appendFileSync(path.join(data, 'starts'), `${JSON.stringify({ pid: process.pid, args: process.argv.slice(2), env: process.env, cwd: process.cwd() })}\n`);
if (behaviour === 'fail') {
  process.stderr.write('fountain: the database is newer than this program\n');
  process.exit(1);
}
setTimeout(() => process.exit(0), 20_000);
if (behaviour !== 'hang') {
  setTimeout(() => {
    const server = createServer((_request, response) => response.end('{"status":"ok"}')).listen(0, '127.0.0.1', () => {
      writeFileSync(path.join(data, 'key'), 'ftn_secret\n');
      const { port } = server.address();
      writeFileSync(path.join(data, 'instance.json'), JSON.stringify({ pid: process.pid, base_url: `http://127.0.0.1:${port}`, started_at: new Date().toISOString(), version: '9.9.9' }));
    });
  }, Number(behaviour));
}
