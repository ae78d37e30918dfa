import {
  createRrsetSchema,
  InvalidBody,
  isObject,
  parseCreateRrset,
  parseServiceAccountPut,
  parseTrustedIssuerPut,
  serviceAccountPutSchema,
  serviceAccountSchema,
  textValue,
  trustedIssuerPutSchema,
  trustedIssuerSchema,
} from '@corral/contracts';
import { keyOf, type WantedSet } from '@corral/domain';
import { type ClusterDocument, clusterKind } from '../clusters/documents.js';
import {
  type BadDocument,
  type Declared,
  type DocumentBody,
  type DocumentKind,
  type DocumentKinds,
  strangersIn,
  strangerText,
} from '../documents/documents.js';

/** Something of a team that a file declares. */
export type TeamDocument = ClusterOfTeam | SetOfTeam | AccessDocument;

export interface ClusterOfTeam extends Declared {
  readonly kind: 'Cluster';
  readonly cluster: ClusterDocument;
}

/** A document of record sets declares several. */
export interface SetOfTeam extends Declared {
  readonly kind: 'RecordSet';
  readonly set: WantedSet;
}

export type AccessDocument = AccessOf<'ServiceAccount'> | AccessOf<'TrustedIssuer'>;

interface AccessOf<K> extends Declared {
  readonly kind: K;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What messages call a kind. */
export const kindNames = {
  Cluster: 'cluster',
  RecordSet: 'record set',
  ServiceAccount: 'service account',
  TrustedIssuer: 'trusted issuer',
} as const satisfies Record<TeamDocument['kind'], string>;

const { properties: setMembers } = createRrsetSchema;

/** What files of a team can have. */
export const teamKinds: DocumentKinds<TeamDocument> = {
  Cluster: {
    ...clusterKind,
    read: (document) =>
      clusterKind
        .read(document)
        .map((read) =>
          'problem' in read ? read : { kind: 'Cluster', name: read.name, source: read.source, cluster: read },
        ),
  },
  RecordSets: {
    called: 'a document of record sets',
    members: ['apiVersion', 'kind', 'metadata', 'spec'],
    metadata: ['team'],
    spec: { properties: { recordSets: { items: createRrsetSchema } } },
    read: setsIn,
  },
  ServiceAccount: accessKind('ServiceAccount', {
    called: 'a service account',
    ofGet: serviceAccountSchema,
    ofPut: serviceAccountPutSchema,
    check: parseServiceAccountPut,
  }),
  TrustedIssuer: accessKind('TrustedIssuer', {
    called: 'a trusted issuer',
    ofGet: trustedIssuerSchema,
    ofPut: trustedIssuerPutSchema,
    check: parseTrustedIssuerPut,
  }),
};

/** A set is declared as a whole: without TTL it has the default of the zone, without labels none. */
function setsIn({ spec, source, bad }: DocumentBody): (SetOfTeam | BadDocument)[] {
  const { recordSets, ...others } = spec;
  if (!Array.isArray(recordSets) || Object.keys(others).length > 0)
    return [bad('spec has recordSets, a list of objects with name, type and records')];
  return recordSets.map((set, at) => {
    const place = `spec.recordSets[${at}]`;
    const strangers = isObject(set) ? strangersOf(set) : [];
    if (strangers.length > 0) return bad(`${place}: ${strangerText(strangers, 'a record set')}`);
    const checked = checkedBy(parseCreateRrset, set);
    if (typeof checked === 'string') return bad(`${place}: ${checked}`);
    const { name, type, ttl = null, labels, records } = checked;
    const values = records.map(({ value, comment }) => ({
      value: type === 'TXT' ? textValue(value) : value,
      comment: comment || null,
    }));
    const content = { records: values, ttl, labels: labels ?? {} };
    return { kind: 'RecordSet', name: keyOf({ name, type }), source, set: { name, type, content, source } };
  });
}

const strangersOf = (set: Readonly<Record<string, unknown>>): string[] => [
  ...strangersIn(set, Object.keys(setMembers)),
  ...[set.records]
    .flat()
    .filter(isObject)
    .flatMap((record) => strangersIn(record, Object.keys(setMembers.records.items.properties), 'records.')),
];

interface AccessSchemas extends Pick<DocumentKind<unknown>, 'called'> {
  readonly ofGet: typeof serviceAccountSchema | typeof trustedIssuerSchema;
  readonly ofPut: typeof serviceAccountPutSchema | typeof trustedIssuerPutSchema;
  readonly check: (body: unknown) => { readonly spec: object };
}

function accessKind(
  kind: AccessDocument['kind'],
  { called, ofGet, ofPut, check }: AccessSchemas,
): DocumentKind<AccessDocument> {
  return {
    called,
    members: Object.keys(ofGet.properties),
    metadata: Object.keys(ofGet.properties.metadata.properties),
    spec: ofPut.properties.spec,
    read({ name, spec, source, bad }) {
      const checked = checkedBy(check, { spec });
      return typeof checked === 'string' ? [bad(checked)] : [{ kind, name, source, spec: { ...checked.spec } }];
    },
  };
}

/** @returns the body, or why it is wrong by the schema of the API, without the full stop */
function checkedBy<T>(parse: (body: unknown) => T, body: unknown): T | string {
  try {
    return parse(body);
  } catch (error) {
    if (!(error instanceof InvalidBody)) throw error;
    return error.fields.map(({ name, message }) => `${name || 'it'} ${message}`).join('. ');
  }
}
