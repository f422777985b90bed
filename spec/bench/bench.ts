// npm run bench -- [--quick] [--json FILE] [--check]: measures the built program beside its yardsticks.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { growth, live, replay, startUp, type Figure } from './figures.ts';

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'string' }, check: { type: 'boolean' } } });
const runs = flags.quick ? 3 : 7;
const updates = flags.quick ? 20_000 : 100_000;

const figures = [...(await startUp(runs * 5)), ...(await replay(runs, updates)), ...(await live(runs, updates / 2)), ...(await growth(runs, updates))];

/** A ratio may be worse than its goal by a third before it fails: machines are noisy. */
function fails({ ratio, goal, atLeast }: Figure): boolean {
  return atLeast === true ? ratio < goal / 1.33 : ratio > goal * 1.33;
}

const rows = figures.map((figure) => ({
  figure: figure.name,
  fountain: `${figure.value.toFixed(1)} ${figure.unit}`,
  yardstick: `${figure.yardstick.toFixed(1)} ${figure.unit}`,
  ratio: Number(figure.ratio.toFixed(2)),
  goal: `${figure.atLeast ? '≥' : '≤'} ${figure.goal}`,
  met: (figure.atLeast ? figure.ratio >= figure.goal : figure.ratio <= figure.goal) ? 'yes' : fails(figure) ? 'no' : 'nearly',
}));
console.log(`Node ${process.version}, ${process.platform} ${process.arch}`);
console.table(rows);
if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify({ node: process.version, figures }, null, 2)}\n`);
if (flags.check && figures.some(fails)) process.exitCode = 1;
