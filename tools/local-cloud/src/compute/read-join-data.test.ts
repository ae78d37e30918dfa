import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { readJoinCommand, readJoinData } from './read-join-data.js';

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

describe('join data in a command', () => {
  const put = (path: string, content: string) =>
    `put 0600 ${path} <<'END-OF-FILE'\n${Buffer.from(content)
      .toString('base64')
      .match(/.{1,76}/g)
      ?.join('\n')}\nEND-OF-FILE`;
  const files = [put(token.path, token.content), put(`${HOME}/config.yaml`, stringify(agent))];
  const ending = [
    'hostnamectl set-hostname onprem-1',
    'systemctl enable --now --no-block gardener-node-init.service',
    'exit',
  ];
  const command = (...lines: string[]) => `bash -s <<'END-OF-COMMAND'\n{\n${lines.join('\n')}\n}\nEND-OF-COMMAND\n`;

  it('is read from a command that writes the files and starts the unit', () => {
    expect(readJoinCommand(command(...files, ...ending))).toEqual({ ...data, hostname: 'onprem-1' });
  });

  it.each<[string, string]>([
    ['no command', ''],
    ['another command', 'reboot\n'],
    ['one whose end is missing', command(...files, ...ending).slice(0, -16)],
    ['one that starts nothing', command(...files, 'exit')],
    ['one without a token', command(files[1] as string, ...ending)],
    ['one without a configuration', command(files[0] as string, ...ending)],
    ['user data', cloudConfig(agent)],
  ])('is not found in %s', (_what, text) => {
    expect(readJoinCommand(text)).toBeNull();
  });
});
