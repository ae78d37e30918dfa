import { isDeepStrictEqual } from 'node:util';
import { isObject, noNarrowing, type ServiceAccountSpec, type ServiceAccountSpecInput } from '@corral/contracts';
import type { TeamApi } from '../clusters/team-api.js';
import { CliError } from '../exit-codes.js';
import type { AccessDocument } from './documents.js';

type Spec = Readonly<Record<string, unknown>>;
export type AccessKind = AccessDocument['kind'];

/** A service account or a trusted issuer as the API shows it. */
export interface Access {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly team: string };
  readonly spec: Spec;
}

interface AccessOperations {
  readonly list: (api: TeamApi) => Promise<readonly Access[]>;
  /** What it will be, with all that the declaration leaves out. */
  readonly complete: (declared: Spec, present: Spec | null) => Spec;
  readonly put: (api: TeamApi, name: string, spec: Spec) => Promise<unknown>;
  readonly remove: (api: TeamApi, name: string) => Promise<unknown>;
}

export const accessOperations: Readonly<Record<AccessKind, AccessOperations>> = {
  ServiceAccount: {
    list: async ({ client, team, signal }) => (await client.listServiceAccounts({ team }, { signal })).body.items,
    complete(declared, present) {
      const { role, narrowing } = declared as unknown as ServiceAccountSpecInput;
      const before = (present as ServiceAccountSpec | null)?.narrowing ?? noNarrowing;
      return { role, narrowing: { ...before, ...narrowing, dns: { ...before.dns, ...narrowing?.dns } } };
    },
    // Both bodies were checked by the parsers of the API.
    put: ({ client, team, signal }, account, spec) =>
      client.putServiceAccount({ team, account }, { body: { spec: spec as never }, signal }),
    remove: ({ client, team, signal }, account) => client.deleteServiceAccount({ team, account }, { signal }),
  },
  TrustedIssuer: {
    list: async ({ client, team, signal }) => (await client.listTrustedIssuers({ team }, { signal })).body.items,
    complete: (declared) => declared,
    put: ({ client, team, signal }, issuer, spec) =>
      client.putTrustedIssuer({ team, issuer }, { body: { spec: spec as never }, signal }),
    remove: ({ client, team, signal }, issuer) => client.deleteTrustedIssuer({ team, issuer }, { signal }),
  },
};

export interface AccessChange {
  readonly kind: AccessKind;
  readonly name: string;
  /** Null for what no file names. */
  readonly source: string | null;
  /** Null for what is new. */
  readonly from: Spec | null;
  /** Null for what is deleted. */
  readonly to: Spec | null;
}

/**
 * Compares what is declared with what there is.
 *
 * @param isPruning also plans the deletion of what is not declared, of the kinds that are
 * @throws CorralError for those who may not see it, CliError for an issuer without its account
 */
export async function planAccess(
  api: TeamApi,
  documents: readonly AccessDocument[],
  isPruning: boolean,
): Promise<AccessChange[]> {
  if (documents.length === 0) return [];
  const [accounts, issuers] = await Promise.all([
    planKind(api, 'ServiceAccount', documents, isPruning),
    planKind(api, 'TrustedIssuer', documents, isPruning),
  ]);
  const homeless = documents.find(
    ({ kind, spec }) => kind === 'TrustedIssuer' && !accounts.left.has(String(spec.serviceAccount)),
  );
  if (homeless === undefined) return [...accounts.changes, ...issuers.changes];
  const { source, spec } = homeless;
  throw new CliError('refused', `${source}: Declare the service account ${String(spec.serviceAccount)}, too.`);
}

async function planKind(api: TeamApi, kind: AccessKind, documents: readonly AccessDocument[], isPruning: boolean) {
  const { list, complete } = accessOperations[kind];
  const present = new Map((await list(api)).map(({ metadata, spec }) => [metadata.name, spec]));
  const declared = documents.filter((document) => document.kind === kind);
  const named = new Set(declared.map(({ name }) => name));
  const unnamed = [...present].filter(([name]) => !named.has(name));
  const gone = isPruning && declared.length > 0 ? unnamed : [];
  const changes: AccessChange[] = [
    ...declared.map(({ name, source, spec }) => {
      const from = present.get(name) ?? null;
      return { kind, name, source, from, to: complete(spec, from) };
    }),
    ...gone.map(([name, from]) => ({ kind, name, source: null, from, to: null })),
  ];
  const left = gone.length > 0 ? named : new Set([...named, ...present.keys()]);
  return { changes: changes.filter(({ from, to }) => !isDeepStrictEqual(from, to)), left };
}

/** The fields that differ. */
export function accessFields({ from, to }: AccessChange) {
  const [before, after] = [leavesOf(from), leavesOf(to)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((pointer) => ({
      pointer,
      from: before.get(pointer) ?? null,
      to: after.get(pointer) ?? null,
    }))
    .filter((field) => !isDeepStrictEqual(field.from, field.to));
}

/** Values by their JSON pointers; lists are values. */
function leavesOf(value: unknown, pointer = '/spec'): Map<string, unknown> {
  if (value === null) return new Map();
  if (!isObject(value)) return new Map([[pointer, value]]);
  return new Map(Object.entries(value).flatMap(([name, each]) => [...leavesOf(each, `${pointer}/${name}`)]));
}
