import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseDocuments, readDocuments } from './documents.js';

const document = (name: string, more = '') =>
  `apiVersion: clusters.corral.dev/v1\nkind: Cluster\nmetadata: {name: ${name}${more}}\nspec: {kubernetesVersion: "1.34"}\n`;
const noInput = () => Promise.reject(new Error('standard input is not to be read'));

describe('documents', () => {
  it('are several in a text, with the place of each', () => {
    expect(parseDocuments(`${document('web')}---\n# nothing\n---\n${document('api')}`, 'all.yaml', 'acme')).toEqual([
      { name: 'web', spec: { kubernetesVersion: '1.34' }, source: 'all.yaml, document 1' },
      { name: 'api', spec: { kubernetesVersion: '1.34' }, source: 'all.yaml, document 3' },
    ]);
  });

  it('can be JSON, and what `get -o yaml` printed', () => {
    const body = {
      apiVersion: 'clusters.corral.dev/v1',
      kind: 'Cluster',
      metadata: { name: 'web', team: 'acme' },
      spec: {},
      status: {},
    };

    expect(parseDocuments(JSON.stringify(body), 'web.json', 'acme')).toEqual([
      { name: 'web', spec: {}, source: 'web.json' },
    ]);
  });

  it.each([
    ['a list', '- a', 'it has to be an object'],
    ['another kind', 'kind: Deployment\napiVersion: apps/v1', 'kind has to be Cluster, and is Deployment'],
    ['another version', document('web').replace('/v1', '/v9'), 'apiVersion has to be clusters.corral.dev/v1'],
    ['an invalid name', document('Web'), 'metadata.name has to be the name of a cluster'],
    ['another team', document('web', ', team: globex'), 'metadata.team is globex, and you act for acme'],
    ['no spec', document('web').replace('spec: {kubernetesVersion: "1.34"}', ''), 'spec has to be an object'],
    ['broken YAML', 'kind: [', 'file: Flow'],
  ])('with %s are refused', (_what, text, message) => {
    expect(() => parseDocuments(text, 'file', 'acme')).toThrow(message);
  });

  it('that expand without end are refused', () => {
    const bomb = [
      'a: &a [1,1]',
      ...'bcdefghijkl'.split('').map((name, at) => `${name}: &${name} [*${'abcdefghijk'[at]},*${'abcdefghijk'[at]}]`),
    ];

    expect(() => parseDocuments(bomb.join('\n'), 'file', 'acme')).toThrow();
  });
});

describe('files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-documents-'));
    await mkdir(join(folder, 'clusters'));
    await writeFile(join(folder, 'clusters', 'b.yml'), document('b'));
    await writeFile(
      join(folder, 'clusters', 'a.json'),
      JSON.stringify({
        ...JSON.parse('{}'),
        apiVersion: 'clusters.corral.dev/v1',
        kind: 'Cluster',
        metadata: { name: 'a' },
        spec: {},
      }),
    );
    await writeFile(join(folder, 'clusters', 'notes.txt'), 'no cluster');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are those of a folder by name, and standard input for a dash', async () => {
    const input = () => Promise.resolve(document('c'));

    const found = await readDocuments([join(folder, 'clusters'), '-'], input, 'acme');

    expect(found.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(found[2]?.source).toBe('standard input');
  });

  it('that declare a cluster twice, none, or do not exist are refused', async () => {
    const clusters = join(folder, 'clusters');

    await expect(readDocuments([clusters, join(clusters, 'b.yml')], noInput, 'acme')).rejects.toThrow(
      /Cluster b is in .*b\.yml and in .*b\.yml\./,
    );
    await expect(readDocuments([join(clusters, 'none.yaml')], noInput, 'acme')).rejects.toThrow(
      'cannot be read: ENOENT.',
    );
    await writeFile(join(folder, 'empty.yaml'), '');
    await expect(readDocuments([join(folder, 'empty.yaml')], noInput, 'acme')).rejects.toThrow(
      'there is no cluster in it',
    );
  });
});
