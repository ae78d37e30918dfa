import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { readJoinData } from './read-join-data.js';

const HOME = '/var/lib/gardener-node-agent';
const CA = '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n';

const agent = {
  kind: 'NodeAgentConfiguration',
  apiServer: { server: 'https://api.example', caBundle: Buffer.from(CA).toString('base64') },
  controllers: { operatingSystemConfig: { secretName: 'gardener-node-agent-a-1' } },
};
const token = { path: `${HOME}/credentials/bootstrap-token`, content: 'abcdef.0123456789abcdef\n' };
const cloudConfig = (config: object, more: object = {}) =>
  `#cloud-config\n${stringify({
    write_files: [token, { path: `${HOME}/config.yaml`, content: stringify(config) }],
    runcmd: ['x'],
    ...more,
  })}`;
const data = {
  hostname: null,
  server: 'https://api.example',
  certificateAuthority: CA,
  bootstrapToken: 'abcdef.0123456789abcdef',
  secretName: 'gardener-node-agent-a-1',
};

describe('join data in user data', () => {
  it.each<[string, string, object]>([
    ['of a plain cloud-config', cloudConfig(agent), data],
    ['with a host name', cloudConfig(agent, { hostname: 'srv-1' }), { ...data, hostname: 'srv-1' }],
    [
      'whose authority is in a file',
      cloudConfig(
        { ...agent, apiServer: { server: 'https://api.example', caFile: '/ca.crt' } },
        {
          write_files: [
            token,
            { path: '/ca.crt', content: Buffer.from(CA).toString('base64'), encoding: 'b64' },
            {
              path: `${HOME}/config.yaml`,
              content: stringify({ ...agent, apiServer: { server: 'https://api.example', caFile: '/ca.crt' } }),
            },
          ],
        },
      ),
      data,
    ],
  ])('is found %s', (_what, userData, expected) => {
    expect(readJoinData(userData)).toEqual(expected);
  });

  it.each<[string, string | null]>([
    ['no user data', null],
    ['an empty text', ''],
    ['a script', '#!/bin/sh\n'],
    ['a cloud-config that does something else', '#cloud-config\npackages: [vim]\n'],
    ['a cloud-config that is a list', '#cloud-config\n- a\n'],
    ['broken YAML', '#cloud-config\n{:\n'],
    ['files that are no files', '#cloud-config\nwrite_files: [1, null]\nruncmd: [x]\n'],
    ['a config of another kind', cloudConfig({ ...agent, kind: 'Other' })],
    ['a config without a Secret', cloudConfig({ ...agent, controllers: {} })],
    ['a config without an address', cloudConfig({ ...agent, apiServer: {} })],
    ['no token', cloudConfig(agent, { write_files: [{ path: `${HOME}/config.yaml`, content: stringify(agent) }] })],
    ['nothing that starts the agent', cloudConfig(agent, { runcmd: [] })],
  ])('is not there in %s', (_what, userData) => {
    expect(readJoinData(userData)).toBeNull();
  });
});
