import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterKind, readDocuments } from '../src/clusters/documents.js';
import { parseDeclared } from '../src/documents/documents.js';
import { type Folder, temporaryFolder } from './support/run-corral.js';

const document = (name: string, more = '') =>
  `apiVersion: clusters.corral.dev/v1\nkind: Cluster\nmetadata: {name: ${name}${more}}\nspec: {kubernetesVersion: "1.34"}\n`;
const parse = (text: string, source = 'file') =>
  parseDeclared(text, source, { kinds: { Cluster: clusterKind }, team: 'acme' });
const problemOf = (text: string): string | undefined =>
  parse(text).flatMap((each) => ('problem' in each ? [each.problem] : []))[0];
const noInput = () => Promise.reject(new Error('standard input is not to be read'));

describe('documents', () => {
  it('are several in a text, with the place of each', () => {
    expect(parse(`${document('web')}---\n# nothing\n---\n${document('api')}`, 'all.yaml')).toEqual([
      { name: 'web', spec: { kubernetesVersion: '1.34' }, source: 'all.yaml, document 1' },
      { name: 'api', spec: { kubernetesVersion: '1.34' }, source: 'all.yaml, document 3' },
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
    ['an alias without an anchor', 'spec: *nowhere', 'nowhere'],
    [
      'labels',
      document('web', ', labels: {env: prod}'),
      'a cluster has no metadata.labels. Remove what has no meaning',
    ],
    ['an unknown member', `${document('web')}replicas: 3\n`, 'a cluster has no replicas'],
    ['two versions', document('web').replace('spec: {', 'spec: {minKubernetesVersion: "1.33", '), 'Keep one of them'],
    [
      'a least version that is none',
      document('web').replace('kubernetesVersion: "1.34"', 'minKubernetesVersion: newest'),
      'spec.minKubernetesVersion has to be a version such as "1.34"',
    ],
    [
      'a least version that YAML reads as a number',
      document('web').replace('kubernetesVersion: "1.34"', 'minKubernetesVersion: 1.30'),
      'spec.minKubernetesVersion has to be text. Quote it: "1.30"',
    ],
    ['a wish that nobody knows', `${document('web')}x-corral: {skip: [region]}\n`, 'x-corral has a list of fields'],
    ['a path that is none', `${document('web')}x-corral: {ignore: [spec.region]}\n`, 'x-corral has a list of fields'],
    ['a number for a name', document('2024'), 'metadata.name has to be text. Quote it: "2024"'],
    ['a tag that means nothing', document('web').replace('"1.34"', '!env VERSION'), 'file: Unresolved tag: !env'],
    [
      'a number that JSON does not have',
      document('web').replace('kubernetesVersion: "1.34"', 'nodePools: [{name: a, maximum: .inf}]'),
      'it has a number that is infinite or none',
    ],
    [
      'an alias of what it is in',
      document('web').replace('spec: {', 'spec: &a {nodePools: [*a], '),
      'it contains itself',
    ],
  ])('with %s are refused', (_what, text, message) => {
    expect(parse(text)).toEqual([
      { source: expect.stringMatching(/^file/), problem: expect.stringMatching(/^file(:\d+|, item 1)?: .*\.$/) },
    ]);
    expect(problemOf(text)).toContain(message);
  });

  it('can merge maps and share them, also with a member for what is shared', () => {
    const text = [
      'apiVersion: clusters.corral.dev/v1',
      'kind: Cluster',
      'x-defaults: &defaults {machineType: cpx31, maximum: 3}',
      'metadata: {name: web}',
      'spec:',
      '  nodePools:',
      '    - {<<: *defaults, name: a}',
      '    - {<<: *defaults, name: b, maximum: 5}',
    ].join('\n');

    expect(parse(text)).toEqual([
      {
        name: 'web',
        source: 'file',
        spec: {
          nodePools: [
            { name: 'a', machineType: 'cpx31', maximum: 3 },
            { name: 'b', machineType: 'cpx31', maximum: 5 },
          ],
        },
      },
    ]);
  });

  it('are 1,000 at most', async () => {
    const many = (count: number) => async () =>
      Buffer.from(Array.from({ length: count }, (_, at) => document(`c${at}`)).join('---\n'));

    expect(await readDocuments(['-'], many(1_000), 'acme')).toHaveLength(1_000);
    await expect(readDocuments(['-'], many(1_001), 'acme')).rejects.toThrow('More than 1000 clusters are too many');
  });

  it('can be a list, as kubectl knows it and as `clusters list` prints it', () => {
    const items = ['web', 'api'].map((name) => ({
      apiVersion: 'clusters.corral.dev/v1',
      kind: 'Cluster',
      metadata: { name },
      spec: {},
    }));
    const expected = [
      { name: 'web', spec: {}, source: 'file, item 1' },
      { name: 'api', spec: {}, source: 'file, item 2' },
    ];

    const list = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items };
    expect(parse(JSON.stringify(list))).toEqual(expected);
    expect(parse(JSON.stringify(items))).toEqual(expected);
    const wrong = JSON.stringify({ ...list, items: [items[0], { ...items[1], kind: 'Pod' }], spec: {} });
    expect(problemOf(wrong)).toBe('file: a list has no spec. Remove what has no meaning here.');
  });

  it.each([
    [
      'a version',
      'spec: {kubernetesVersion: 1.30}',
      'file:4: spec.kubernetesVersion has to be text. Quote it: "1.30".',
    ],
    ['a region', 'spec:\n  region: 12', 'file:5: spec.region has to be text. Quote it: "12".'],
    [
      'the version of an image',
      'spec:\n  nodePools:\n    - image: {version: 24.10}',
      'file:6: spec.nodePools[0].image.version has to be text. Quote it: "24.10".',
    ],
    [
      'what a merge key brings',
      'x-v: &v {kubernetesVersion: 1.34}\nspec: {<<: *v}',
      'file: spec.kubernetesVersion has to be text. Quote it.',
    ],
  ])('with %s that YAML reads as a number say where to quote', (_what, spec, problem) => {
    expect(problemOf(`${document('web').split('\n').slice(0, 3).join('\n')}\n${spec}\n`)).toBe(problem);
  });

  it('keep numbers that an image takes', () => {
    const spec = 'spec: {nodePools: [{name: a, image: {version: 24.4, hugePages: 2}}]}';

    expect(parse(document('web').replace(/spec: .*/, spec))).toMatchObject([
      { spec: { nodePools: [{ image: { version: 24.4, hugePages: 2 } }] } },
    ]);
  });

  it('that expand without end are refused', () => {
    const bomb = [
      'a: &a [1,1]',
      ...'bcdefghijkl'.split('').map((name, at) => `${name}: &${name} [*${'abcdefghijk'[at]},*${'abcdefghijk'[at]}]`),
    ];

    expect(problemOf(bomb.join('\n'))).toMatch(/^file: .*alias/i);
  });
});

describe('files', () => {
  let folder: Folder;
  let clusters: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
    clusters = folder.file('clusters');
    await mkdir(clusters);
    await writeFile(join(clusters, 'b.yml'), document('b'));
    const json = { apiVersion: 'clusters.corral.dev/v1', kind: 'Cluster', metadata: { name: 'a' }, spec: {} };
    await writeFile(join(clusters, 'a.json'), JSON.stringify(json));
    await writeFile(join(clusters, 'notes.txt'), 'no cluster');
  });
  afterEach(() => folder.remove());

  it('are those of a folder by name, and standard input for a dash', async () => {
    const input = () => Promise.resolve(Buffer.from(`\ufeff${document('c')}`));

    const found = await readDocuments([clusters, '-'], input, 'acme');

    expect(found).toMatchObject([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    expect(found[2]?.source).toBe('standard input');
  });

  it.each([
    ['Latin-1', Buffer.from(document('web', ', id: "é"'), 'latin1')],
    ['UTF-16, as PowerShell writes it', Buffer.from(`\ufeff${document('web')}`, 'utf16le')],
  ])('in %s are refused', async (_what, bytes) => {
    const path = folder.file('web.yaml');
    await writeFile(path, bytes);

    await expect(readDocuments([path], noInput, 'acme')).rejects.toThrow(`${path} is not UTF-8. Save it as UTF-8.`);
    await expect(readDocuments(['-'], async () => bytes, 'acme')).rejects.toThrow('standard input is not UTF-8');
  });

  it('that declare a cluster twice, none, or do not exist are refused', async () => {
    await expect(readDocuments([clusters, join(clusters, 'b.yml')], noInput, 'acme')).rejects.toThrow(
      /Cluster b is in .*b\.yml and in .*b\.yml\./,
    );
    await expect(readDocuments([join(clusters, 'none.yaml')], noInput, 'acme')).rejects.toThrow(
      'cannot be read: ENOENT.',
    );
    await writeFile(folder.file('empty.yaml'), '');
    await expect(readDocuments([folder.file('empty.yaml')], noInput, 'acme')).rejects.toThrow(
      'there is no cluster in it',
    );
  });
});
