import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseConfig, readConfig, writeConfig } from './config-file.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-config-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const config = {
  currentContext: 'prod',
  contexts: { prod: { url: 'https://c.example', team: 'acme', token: 'corral_x' } },
};
const warnings: string[] = [];
const read = (path: string) => readConfig(path, (text) => void warnings.push(text));

describe('the configuration file', () => {
  it('is read as it was written, by its owner only, and nothing else is left in its folder', async () => {
    const path = join(folder, 'corral', 'config.yaml');

    await writeConfig(path, config);
    await writeConfig(path, config);

    expect(await read(path)).toEqual(config);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'corral'))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(folder, 'corral'))).toEqual(['config.yaml']);
  });

  it('is empty if there is none', async () => {
    expect(await read(join(folder, 'none'))).toEqual({ currentContext: null, contexts: {} });
  });

  it('brings a warning when others can read it', async () => {
    const path = join(folder, 'config.yaml');
    await writeFile(path, 'currentContext: null\n', { mode: 0o644 });

    await read(path);

    expect(warnings.at(-1)).toContain(`chmod 600 ${path}`);
  });

  it.each([
    ['no YAML', 'contexts: [', 'no valid YAML'],
    ['a list', '- a', 'has to be an object'],
    ['contexts as a list', 'contexts: [a]', 'contexts has to be an object'],
    ['a token that is a number', 'contexts: {a: {token: 12345678}}', 'contexts.a.token has to be a text'],
    ['aliases', 'contexts: {a: &a {url: x}, b: *a}', 'no valid YAML'],
  ])('is refused with %s, without a value of it', (_what, text, message) => {
    expect(() => parseConfig(text, 'the file')).toThrow(message);
    expect(() => parseConfig(text, 'the file')).not.toThrow('12345678');
  });

  it('stays as it is when it cannot be replaced', async () => {
    const path = join(folder, 'config.yaml');
    await writeConfig(path, config);

    await expect(writeConfig(join(path, 'below'), config)).rejects.toThrow(/cannot be written: E[A-Z]+\./);

    expect(await readFile(path, 'utf8')).toContain('currentContext: prod');
  });
});
