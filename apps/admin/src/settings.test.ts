import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSettings } from './settings.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-settings-'));
  mkdirSync(join(folder, '.corral'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const writeFile = (text: string) => writeFileSync(join(folder, '.corral', 'admin.json'), text);

describe('readSettings', () => {
  it('uses the installation in the environment, as a whole', () => {
    writeFile('{"DATABASE_URL":"postgresql://dev/x","DNS_ZONE_NAME":"dev.test","REDIS_URL":"redis://dev"}');

    const settings = readSettings({ DATABASE_URL: 'postgres://prod/x', DNS_RECORDS_PER_TEAM: '500' }, folder);

    expect(settings).toEqual({
      databaseUrl: 'postgres://prod/x',
      redisUrl: undefined,
      zoneName: undefined,
      recordsPerTeam: 500,
    });
  });

  it('otherwise uses the installation running in this folder', () => {
    writeFile('{"DATABASE_URL":"postgresql://dev/x","DNS_ZONE_NAME":"dev.test"}');

    const settings = readSettings({ DATABASE_URL: ' ', DNS_ZONE_NAME: 'prod.test' }, folder);

    expect(settings).toEqual({
      databaseUrl: 'postgresql://dev/x',
      redisUrl: undefined,
      zoneName: 'dev.test',
      recordsPerTeam: 200,
    });
  });

  it.each([
    ['the file does not exist', {}, '/nowhere', /Set DATABASE_URL/],
    [
      'the quota is not a number',
      { DATABASE_URL: 'postgres://x', DNS_RECORDS_PER_TEAM: 'many' },
      '/nowhere',
      /whole number/,
    ],
    ['the URL has another scheme', { DATABASE_URL: 'mysql://x' }, '/nowhere', /postgresql:/],
  ])('asks for settings when %s', (_what, env, where, sentence) => {
    expect(() => readSettings(env, where)).toThrow(sentence);
  });

  it('asks for settings when the file is damaged', () => {
    writeFile('{"DATABASE_URL":');

    expect(() => readSettings({}, folder)).toThrow(/damaged/);
  });
});
