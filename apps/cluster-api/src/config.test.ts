import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError, configTable } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { clusterApiConfig, readClusterApiConfig } from './config.js';

/** The formatter pads the cells of tables. */
const unpadded = (markdown: string): string => markdown.replace(/ +/g, ' ').replace(/-{3,}/g, '---');

const enough = {
  DATABASE_URL: 'postgresql://corral@localhost/corral',
  SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  GARDEN_IN_CLUSTER: 'true',
};

function wrongVariables(env: NodeJS.ProcessEnv): string[] {
  try {
    readClusterApiConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ variable }) => variable);
    throw error;
  }
  return [];
}

it('the README lists every variable as it is declared', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

  expect(unpadded(readme)).toContain(unpadded(configTable(clusterApiConfig)));
});

describe('the configuration', () => {
  it('needs a database, keys and a garden, and nothing else', () => {
    expect(wrongVariables({})).toEqual(expect.arrayContaining(['DATABASE_URL', 'SECRET_KEYS', 'GARDEN_KUBECONFIG']));
    expect(wrongVariables({})).toHaveLength(3);
    expect(wrongVariables(enough)).toEqual([]);
    expect(wrongVariables({ ...enough, GARDEN_IN_CLUSTER: '', GARDEN_KUBECONFIG: '/etc/garden' })).toEqual([]);
  });

  it('names what is missing and what does not fit together at once', () => {
    const env = { OIDC_CLIENT_ID: 'corral', OIDC_SCOPES: 'email', DEV_SIGN_IN: 'true', NODE_ENV: 'production' };

    expect(wrongVariables(env).sort()).toEqual([
      ...['DATABASE_URL', 'DEV_SIGN_IN', 'GARDEN_KUBECONFIG', 'HOST', 'OIDC_ISSUER', 'OIDC_SCOPES', 'SECRET_KEYS'],
    ]);
  });

  it('has features of the garden by their names', () => {
    expect(readClusterApiConfig(enough).GARDEN_FEATURES).toEqual(['control-plane-ha']);
    expect(readClusterApiConfig({ ...enough, GARDEN_FEATURES: 'arm64,control-plane-ha' }).GARDEN_FEATURES).toHaveLength(
      2,
    );
    expect(wrongVariables({ ...enough, GARDEN_FEATURES: 'arm64,teleport' })).toEqual(['GARDEN_FEATURES']);
  });
});

describe('an identity provider', () => {
  const oidc = { ...enough, OIDC_ISSUER: 'https://login.example.org/', OIDC_CLIENT_ID: 'corral' };

  it.each<[string, NodeJS.ProcessEnv]>([
    ['with a secret', { ...oidc, OIDC_CLIENT_SECRET: 'secret-of-the-client' }],
    ['that knows this service as a public client', oidc],
    ['on this machine, without TLS', { ...oidc, OIDC_ISSUER: 'http://localhost:9000' }],
    ['that is asked for more', { ...oidc, OIDC_SCOPES: 'openid email groups' }],
    ['beside a sign-in without proof', { ...oidc, DEV_SIGN_IN: 'true', HOST: '127.0.0.1' }],
  ])('can be one %s', (_what, env) => {
    expect(wrongVariables(env)).toEqual([]);
  });

  it.each<[string, NodeJS.ProcessEnv, string[]]>([
    ['without a client', { ...oidc, OIDC_CLIENT_ID: undefined }, ['OIDC_CLIENT_ID']],
    ['without an address', { ...oidc, OIDC_ISSUER: undefined }, ['OIDC_ISSUER']],
    [
      'of which only the secret is set',
      { ...enough, OIDC_CLIENT_SECRET: 'secret-of-the-client' },
      ['OIDC_CLIENT_ID', 'OIDC_ISSUER'],
    ],
    ['with a secret to guess', { ...oidc, OIDC_CLIENT_SECRET: 'short' }, ['OIDC_CLIENT_SECRET']],
    ['elsewhere without TLS', { ...oidc, OIDC_ISSUER: 'http://login.example.org' }, ['OIDC_ISSUER']],
    ['whose address has a query', { ...oidc, OIDC_ISSUER: 'https://login.example.org/?realm=a' }, ['OIDC_ISSUER']],
    ['that is not asked who it is', { ...oidc, OIDC_SCOPES: 'email profile' }, ['OIDC_SCOPES']],
  ])('cannot be one %s', (_what, env, variables) => {
    expect(wrongVariables(env).sort()).toEqual(variables);
  });
});

describe('a sign-in without proof', () => {
  const dev = { ...enough, DEV_SIGN_IN: 'true', HOST: '127.0.0.1' };

  it.each([
    ['at the default address', dev],
    ['at localhost', { ...dev, PUBLIC_URL: 'http://localhost:8081' }],
    ['at a loopback address', { ...dev, HOST: '::1', PUBLIC_URL: 'http://[::1]:8081' }],
    ['outside production', { ...dev, NODE_ENV: 'development' }],
  ])('can be had %s', (_where, env) => {
    expect(wrongVariables(env)).toEqual([]);
  });

  it.each([
    ['in production', { ...dev, NODE_ENV: 'production' }, ['DEV_SIGN_IN']],
    ['over HTTPS', { ...dev, PUBLIC_URL: 'https://localhost' }, ['PUBLIC_URL']],
    ['at a public name', { ...dev, PUBLIC_URL: 'http://clusters.example.org' }, ['PUBLIC_URL']],
    [
      'at a name that only begins like one of this machine',
      { ...dev, PUBLIC_URL: 'http://localhost.example.org' },
      ['PUBLIC_URL'],
    ],
    ['at an address of a network', { ...dev, PUBLIC_URL: 'http://10.0.0.5' }, ['PUBLIC_URL']],
    ['while other machines reach it', { ...dev, HOST: '::' }, ['HOST']],
    ['when nothing else is set', { ...enough, DEV_SIGN_IN: 'true' }, ['HOST']],
    [
      'for all these reasons',
      { ...dev, NODE_ENV: 'production', PUBLIC_URL: 'https://x.org', HOST: '::' },
      ['DEV_SIGN_IN', 'PUBLIC_URL', 'HOST'],
    ],
  ])('cannot be had %s', (_where, env, variables) => {
    expect(wrongVariables(env)).toEqual(variables);
  });
});
