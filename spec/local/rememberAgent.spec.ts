import { expect } from 'chai';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rememberAgent, rememberedAgent } from '../../lib/local/rememberAgent.ts';

describe('rememberAgent', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'agent-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('should be "demo" before any choice, and the last choice after', () => {
    const data = path.join(folder, 'not', 'there', 'yet');
    expect(rememberedAgent(data)).to.equal('demo');
    rememberAgent(data, 'claude');
    rememberAgent(data, 'my agent');
    rememberAgent(data, 'my agent');
    expect(rememberedAgent(data)).to.equal('my agent');
    expect(readdirSync(data)).to.deep.equal(['agent']);
  });

  it('should forget rather than fail when the folder cannot be written', () => {
    writeFileSync(path.join(folder, 'file'), '');
    const data = path.join(folder, 'file', 'x');
    rememberAgent(data, 'claude');
    expect(rememberedAgent(data)).to.equal('demo');
  });
});
