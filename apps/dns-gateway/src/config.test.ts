import { readFileSync } from 'node:fs';
import { configTable } from '@corral/service';
import { expect, it } from '@jest/globals';
import { dnsGatewayConfig } from './config.js';

/** The formatter pads table cells. */
const unpadded = (markdown: string): string => markdown.replace(/ +/g, ' ').replace(/-{3,}/g, '---');

it('the README lists every variable as declared', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

  expect(unpadded(readme)).toContain(unpadded(configTable(dnsGatewayConfig)));
});
