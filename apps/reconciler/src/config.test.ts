import { readFileSync } from 'node:fs';
import { ConfigError, configTable, readConfig } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { reconcilerConfig } from './config.js';

/** The formatter pads the cells of tables. */
const unpadded = (markdown: string): string => markdown.replace(/ +/g, ' ').replace(/-{3,}/g, '---');

describe('the README', () => {
  it('lists every variable as declared', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

    expect(unpadded(readme)).toContain(unpadded(configTable(reconcilerConfig)));
  });
});

describe('GARDEN_FEATURES', () => {
  const enough = {
    DATABASE_URL: 'postgresql://corral:password@db/corral',
    DNS_ZONE_NAME: 'example.org',
    HCLOUD_TOKEN: 'x'.repeat(64),
  };
  const read = (GARDEN_FEATURES: string) =>
    readConfig(reconcilerConfig, { ...enough, GARDEN_FEATURES }).GARDEN_FEATURES;

  it('is a comma-separated list', () => {
    expect(read('control-plane-ha, private-nodes')).toEqual(['control-plane-ha', 'private-nodes']);
  });

  it('rejects unknown names with a list of the known ones', () => {
    expect(() => read('private-nodes,teleport')).toThrow(ConfigError);
    expect(() => read('private-nodes,teleport')).toThrow(
      /GARDEN_FEATURES.*existing-network, image-options, private-nodes/s,
    );
  });
});
