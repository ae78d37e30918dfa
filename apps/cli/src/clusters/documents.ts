import { clusterSchema, clusterSpecSchema, isObject } from '@corral/contracts';
import { type BadDocument, type Declared, type DocumentKind, readDeclared } from '../documents/documents.js';
import { textSchema } from '../documents/unquoted-texts.js';

/** A cluster as a file declares it. */
export interface ClusterDocument extends Declared {
  /** Sent as it is, but for what is resolved: the API checks it. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** Fields that are left to others, as paths below `spec`. */
  readonly ignore?: readonly string[];
  /** The lowest version that it may have, in place of a version. */
  readonly minKubernetesVersion?: string;
}

const { properties: members } = clusterSchema;

export const clusterKind: DocumentKind<ClusterDocument> = {
  called: 'a cluster',
  members: Object.keys(members),
  metadata: Object.keys(members.metadata.properties),
  spec: { ...clusterSpecSchema, properties: { ...clusterSpecSchema.properties, minKubernetesVersion: textSchema } },
  read({ name, spec, body, source, bad }) {
    const { minKubernetesVersion, ...declared } = spec;
    const flaw = flawInExtension(body[EXTENSION]) ?? flawInLeast(minKubernetesVersion, declared.kubernetesVersion);
    if (flaw !== null) return [bad(flaw)];
    const { ignore } = (body[EXTENSION] ?? {}) as Pick<ClusterDocument, 'ignore'>;
    return [
      {
        name,
        spec: declared,
        source,
        ...(ignore === undefined ? {} : { ignore }),
        ...(minKubernetesVersion === undefined ? {} : { minKubernetesVersion: minKubernetesVersion as string }),
      },
    ];
  },
};

/** Reads the clusters that files declare. @throws CliError as `readDeclared` does */
export const readDocuments = (
  paths: readonly string[],
  readInput: () => Promise<Uint8Array>,
  team: string,
): Promise<(ClusterDocument | BadDocument)[]> =>
  readDeclared(paths, readInput, {
    kinds: { Cluster: clusterKind },
    team,
    titleOf: ({ name }) => `Cluster ${name}`,
    nothing: 'there is no cluster in it',
    most: [1_000, 'clusters'],
  });

/** What the command does and the API does not know. */
const EXTENSION = 'x-corral';
const IGNORED_MAX = 100;
const ignorable = /^[\w*-]+(\/[\w*-]+)*$/;

function flawInExtension(extension: unknown): string | null {
  if (extension === undefined) return null;
  const example = `${EXTENSION} has a list of fields, such as {ignore: [nodePools/*/maximum]}`;
  if (!isObject(extension) || Object.keys(extension).some((name) => name !== 'ignore')) return example;
  const { ignore } = extension;
  if (!Array.isArray(ignore) || ignore.length > IGNORED_MAX) return example;
  return ignore.every((path) => typeof path === 'string' && ignorable.test(path)) ? null : example;
}

function flawInLeast(least: unknown, version: unknown): string | null {
  if (least === undefined) return null;
  if (version !== undefined) return 'spec has kubernetesVersion and minKubernetesVersion. Keep one of them';
  return typeof least === 'string' && /^\d{1,3}(\.\d{1,3}){1,2}$/.test(least)
    ? null
    : 'spec.minKubernetesVersion has to be a version such as "1.34" or "1.34.2"';
}
