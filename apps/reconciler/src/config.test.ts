import { readFileSync } from 'node:fs';
import { configTable } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { configSpec } from './config.js';

describe('the README', () => {
  it('lists every variable as it is declared', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

    expect(readme).toContain(configTable(configSpec));
  });
});
