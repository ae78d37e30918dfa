import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'yaml';
import type { JoinData } from './client.js';
import { renderJoinUserData } from './render-join-command.js';

const golden = fileURLToPath(new URL('golden/join-user-data.yaml', import.meta.url));

const certificate = (lines: number) =>
  `-----BEGIN CERTIFICATE-----\n${`${'MIIB'.repeat(16)}\n`.repeat(lines)}-----END CERTIFICATE-----\n`;

const aJoin: JoinData = {
  server: 'https://api.c1234567.t1234567.shoots.example.com',
  certificateAuthority: certificate(3),
  bootstrapToken: 'abc123.0123456789abcdef',
  configSecretName: 'gardener-node-agent-pabc12-5e0f5',
  kubernetesVersion: '1.34.2',
  nodeAgentImage: 'europe-docker.pkg.dev/gardener-project/releases/gardener/node-agent:v1.130.0',
};
const nodeName = 'corral-web-1';

interface CloudConfig {
  hostname: string;
  write_files: { path: string; permissions: string; content: string }[];
}

/** Parses user data like cloud-init. */
const read = (text: string): CloudConfig => parse(text, { version: '1.1' });
const contentOf = (text: string, path: string): string =>
  read(text).write_files.find((file) => file.path === path)?.content ?? '';

const home = '/var/lib/gardener-node-agent';

describe('join user data', () => {
  it('matches the documented format', () => {
    const text = renderJoinUserData(aJoin, nodeName);
    // Formatted for readers.
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(golden, text);

    expect(text).toBe(readFileSync(golden, 'utf8'));
  });

  it('contains a script that a shell can parse', () => {
    const script = contentOf(renderJoinUserData(aJoin, nodeName), `${home}/init.sh`);

    expect(() => execFileSync('bash', ['-n'], { input: script })).not.toThrow();
  });

  it('states the certificate authority for older and newer agents', () => {
    const text = renderJoinUserData(aJoin, nodeName);

    const { apiServer } = parse(contentOf(text, `${home}/config.yaml`));
    expect(Buffer.from(apiServer.caBundle, 'base64').toString()).toBe(aJoin.certificateAuthority);
    expect(contentOf(text, apiServer.caFile)).toBe(aJoin.certificateAuthority);
  });

  it('lets only root read the token', () => {
    const files = read(renderJoinUserData(aJoin, nodeName)).write_files;

    const open = files.filter(({ permissions }) => permissions !== '0600');
    expect(open.map(({ content }) => content).join()).not.toContain(aJoin.bootstrapToken);
  });

  it('fits into the limit of the provider with the largest authority', () => {
    const long = {
      ...aJoin,
      certificateAuthority: certificate(152),
      nodeAgentImage: `registry.example.com/${'a'.repeat(300)}:v1`,
    };

    expect(Buffer.byteLength(renderJoinUserData(long, nodeName))).toBeLessThan(32_768);
  });

  it.each<[keyof JoinData, string]>([
    ['server', 'https://127.0.0.1:6443'],
    ['server', 'https://[2001:db8::1]:443/'],
    ['certificateAuthority', `${certificate(20)}${certificate(20)}`],
    ['certificateAuthority', certificate(1).trimEnd()],
    ['configSecretName', 'a'],
    ['nodeAgentImage', 'garden.local.gardener.cloud:5001/gardener__x/node-agent:v1.2-3_4'],
    ['nodeAgentImage', `registry.k8s.io/agent@sha256:${'0123456789abcdef'.repeat(4)}`],
    ['kubernetesVersion', '1.35.0'],
  ])('accepts a %s like %s', (part, value) => {
    expect(renderJoinUserData({ ...aJoin, [part]: value }, nodeName)).toContain('#cloud-config');
  });

  it.each(['no', '1e5', '0x10', '12', '1-2', 'a.b.c'])('keeps the name %s a string', (name) => {
    const text = renderJoinUserData(aJoin, name);

    expect(read(text).hostname).toBe(name);
    expect(contentOf(text, `${home}/machine-name`)).toBe(name);
  });

  it.each<[keyof JoinData, string]>([
    ['server', 'http://api.example.com'],
    ['server', 'https://user:word@api.example.com'],
    ['server', 'https://api.example.com/path?query'],
    ['server', 'https://api.example.com\n'],
    ['certificateAuthority', ''],
    ['certificateAuthority', certificate(200)],
    ['certificateAuthority', certificate(1).replaceAll('CERTIFICATE', 'PRIVATE KEY')],
    ['bootstrapToken', 'abc123.0123456789abcdeF'],
    ['configSecretName', '../secrets'],
    ['kubernetesVersion', 'v1.34.2'],
    ['nodeAgentImage', "registry.example.com/a:v1';reboot;'"],
    ['nodeAgentImage', 'registry.example.com/a:$(reboot)'],
    ['nodeAgentImage', '--help'],
    ['nodeAgentImage', 'registry.example.com/../a'],
    ['nodeAgentImage', ''],
  ])('refuses a %s like %j, and does not quote it', (part, value) => {
    expect(() => renderJoinUserData({ ...aJoin, [part]: value }, nodeName)).toThrow(
      new TypeError(`No server can join with this ${part}.`),
    );
  });

  it.each(['', 'Upper', '-a', 'a-', 'a b', 'a\nb', 'a..b', '$(reboot)', 'a'.repeat(64)])(
    'refuses the name %j',
    (name) => {
      expect(() => renderJoinUserData(aJoin, name)).toThrow(new TypeError('No server can join with this nodeName.'));
    },
  );

  it('refuses every value that a shell, YAML or systemd could read as more than a value', () => {
    const hostile = fc.constantFrom(...'\'"`$\\;&|<>(){}*?#!%~^ \t\r\n\0\u2028é');
    const parts = fc.constantFrom(...(Object.keys(aJoin) as (keyof JoinData)[]), 'nodeName' as const);

    fc.assert(
      fc.property(parts, hostile, fc.nat(), (part, character, at) => {
        const value = part === 'nodeName' ? nodeName : aJoin[part];
        const place = at % (value.length + 1);
        const spoilt = value.slice(0, place) + character + value.slice(place);
        const isHarmless = part === 'certificateAuthority' && character === '\n';
        fc.pre(!isHarmless);

        const render = () =>
          part === 'nodeName'
            ? renderJoinUserData(aJoin, spoilt)
            : renderJoinUserData({ ...aJoin, [part]: spoilt }, nodeName);
        expect(render).toThrow(TypeError);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is parsed from YAML unchanged, or refused', () => {
    const parts = fc.constantFrom(...(Object.keys(aJoin) as (keyof JoinData)[]));

    fc.assert(
      fc.property(parts, fc.string({ unit: 'binary', maxLength: 80 }), (part, value) => {
        let text: string;
        try {
          text = renderJoinUserData({ ...aJoin, [part]: value }, nodeName);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          return;
        }
        expect(
          read(text)
            .write_files.map(({ content }) => content)
            .join(),
        ).toContain(value);
      }),
    );
  });
});
