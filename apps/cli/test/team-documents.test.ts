import { describe, expect, it } from '@jest/globals';
import { parseDeclared } from '../src/documents/documents.js';
import { teamKinds } from '../src/team/documents.js';

/* What files of a team may say. What all kinds have in common is in `documents.test.ts`. */

const parse = (text: string) => parseDeclared(text, 'file', { kinds: teamKinds, team: 'acme' });
const head = (kind: string, metadata = '{team: acme}') =>
  `apiVersion: clusters.corral.dev/v1\nkind: ${kind}\nmetadata: ${metadata}\n`;
const sets = (...flow: string[]) => `${head('RecordSets')}spec: {recordSets: [${flow.join(', ')}]}\n`;
const aSet = (more = '') => `{name: www.acme, type: A, records: [{value: 192.0.2.1}]${more}}`;

describe('documents of a team', () => {
  it('declare whole record sets, and get quotes around the values of TXT', () => {
    const text = sets(
      aSet(', ttl: 300, labels: {env: prod}'),
      '{name: acme, type: TXT, records: [{value: hi, comment: c}]}',
    );

    expect(parse(text)).toEqual([
      {
        kind: 'RecordSet',
        name: 'www.acme A',
        source: 'file',
        set: {
          name: 'www.acme',
          type: 'A',
          source: 'file',
          content: { ttl: 300, labels: { env: 'prod' }, records: [{ value: '192.0.2.1', comment: null }] },
        },
      },
      expect.objectContaining({
        name: 'acme TXT',
        set: expect.objectContaining({
          content: { ttl: null, labels: {}, records: [{ value: '"hi"', comment: 'c' }] },
        }),
      }),
    ]);
  });

  it('are clusters, record sets, service accounts and trusted issuers, several in one file', () => {
    const text = [
      `${head('Cluster', '{name: web}')}spec: {kubernetesVersion: "1.34"}\n`,
      sets(aSet()),
      `${head('ServiceAccount', '{name: ci}')}spec: {role: member, narrowing: {clusters: [ci-*]}}\n`,
      `${head('TrustedIssuer', '{name: git}')}spec: {issuer: "https://a.test", audience: b, claims: {sub: "repo:acme/shop:x"}, serviceAccount: ci}\n`,
    ].join('---\n');

    expect(parse(text)).toMatchObject([
      { kind: 'Cluster', name: 'web', cluster: { name: 'web' } },
      { kind: 'RecordSet', name: 'www.acme A' },
      { kind: 'ServiceAccount', name: 'ci', spec: { role: 'member', narrowing: { clusters: ['ci-*'] } } },
      { kind: 'TrustedIssuer', name: 'git', spec: { serviceAccount: 'ci' } },
    ]);
  });

  it.each([
    ['another kind', head('Connection', '{name: main}'), 'kind has to be Cluster or RecordSets or ServiceAccount or'],
    ['another team', sets(aSet()).replace('acme}', 'globex}'), 'metadata.team is globex, and you act for acme'],
    ['no list of sets', `${head('RecordSets')}spec: {sets: []}\n`, 'spec has recordSets, a list of objects'],
    ['a set without records', sets('{name: acme, type: A}'), 'spec.recordSets[0]: records is required'],
    ['an unknown member of a set', sets(aSet(', zone: a')), 'a record set has no zone. Remove what has no meaning'],
    ['an unknown member of a record', sets(aSet().replace('}]', ', ttl: 3}]')), 'a record set has no records.ttl.'],
    ['a value that is a number', sets(aSet().replace('192.0.2.1', '1.10')), 'value has to be text. Quote it: "1.10"'],
    ['a set that is no object', sets('acme'), 'spec.recordSets[0]: it must be an object'],
    ['an unknown role', `${head('ServiceAccount', '{name: ci}')}spec: {role: owner}\n`, 'spec.role must be'],
    [
      'an account without a name',
      `${head('ServiceAccount')}spec: {role: admin}\n`,
      'has to be the name of a service account',
    ],
    [
      'an issuer without claims',
      `${head('TrustedIssuer', '{name: git}')}spec: {issuer: "https://a.test"}\n`,
      'claims is required',
    ],
  ])('with %s are refused', (_what, text, message) => {
    expect(parse(text)).toEqual([
      { source: expect.stringMatching(/^file/), problem: expect.stringContaining(message) },
    ]);
  });
});
