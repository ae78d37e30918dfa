import { readFileSync } from 'node:fs';
import { ConfigError, configTable, readConfig } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { reconcilerConfig } from './config.js';
import { mailVariables } from './mail/connect-mail-server.js';

/** The formatter pads the cells of tables. */
const unpadded = (markdown: string): string => markdown.replace(/ +/g, ' ').replace(/-{3,}/g, '---');

it('the README lists every variable as declared', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

  expect(unpadded(readme)).toContain(unpadded(configTable(reconcilerConfig)));
});

const enough = {
  DATABASE_URL: 'postgresql://corral:password@db/corral',
  DNS_ZONE_NAME: 'example.org',
  HCLOUD_TOKEN: 'x'.repeat(64),
};

describe('a garden', () => {
  it.each([{ GARDEN_KUBECONFIG: '/etc/garden' }, { GARDEN_IN_CLUSTER: 'true' }])('needs SECRET_KEYS: %j', (garden) => {
    expect(() => readConfig(reconcilerConfig, { ...enough, ...garden })).toThrow(/SECRET_KEYS is missing/);
  });
});

describe('GARDEN_FEATURES', () => {
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

describe('mail variables', () => {
  const mailServer = { SMTP_URL: 'smtp://mail.example.org', MAIL_FROM: 'corral@example.org' };

  it.each([
    ['accept a mail server with a console', { CONSOLE_URL: 'https://console.example.org' }],
    [
      'accept a mail server with the API and no console',
      { CLUSTER_API_URL: 'https://clusters.example.org', CONSOLE_URL: '' },
    ],
  ])('%s', (_how, place) => {
    expect(() => readConfig(mailVariables, { ...mailServer, ...place })).not.toThrow();
  });

  it('require CLUSTER_API_URL for a mail server without a console', () => {
    expect(() => readConfig(mailVariables, mailServer)).toThrow(/CLUSTER_API_URL is missing/);
  });

  it('are all optional without a mail server', () => {
    expect(() => readConfig(mailVariables, {})).not.toThrow();
  });
});
