import { usageError } from '../exit-codes.js';
import type { Kubeconfig, Named } from './issue.js';

/**
 * Names the contexts: the current one as given, others with a number behind a colon, which no name of a cluster has. With a
 * given name, the entries that they refer to get it too, so that they are replaced by nothing but another use of it.
 */
export function nameEntries(config: Kubeconfig, given?: string): Kubeconfig {
  const name = given ?? config['current-context'];
  let others = 1;
  const contexts = config.contexts.map((context) => {
    if (context.name === config['current-context']) return { ...context, name };
    others += 1;
    return { ...context, name: `${name}:${others}` };
  });
  if (given === undefined) return { ...config, contexts };
  const currentFirst = [...contexts.filter((each) => each.name === name), ...contexts];
  const named = (kind: 'cluster' | 'user', entry: string): string =>
    currentFirst.find((each) => partOf(each, 'context')[kind] === entry)?.name ?? entry;
  return {
    ...config,
    clusters: config.clusters.map((each) => ({ ...each, name: named('cluster', each.name) })),
    users: config.users.map((each) => ({ ...each, name: named('user', each.name) })),
    contexts: contexts.map((each) => {
      const context = partOf(each, 'context');
      const of = (kind: 'cluster' | 'user') => named(kind, String(context[kind]));
      return { ...each, context: { ...context, cluster: of('cluster'), user: of('user') } };
    }),
    'current-context': name,
  };
}

/** The lists of the files that kubectl reads: of each name, the first entry counts. */
export type Existing = Readonly<Record<'clusters' | 'users' | 'contexts', readonly Named[]>>;

/**
 * Whoever uses a name must go on reaching the same cluster by it.
 *
 * @throws CliError if an added name is one of another cluster
 */
export function refuseTakenNames(existing: Existing, added: Kubeconfig): void {
  const [before, after] = [reader(existing), reader(added)];
  const refuse = (kind: 'context' | 'cluster' | 'user', name: string, place: string): never => {
    const way = `Choose another name with --name, or remove it first: kubectl config delete-${kind} ${name}.`;
    throw usageError(`The kubeconfig has a ${kind} ${name} of another cluster, ${place}. ${way}`);
  };
  for (const { name } of added.clusters) {
    const place = before.placeOf(name);
    if (place !== null && place !== after.placeOf(name)) refuse('cluster', name, place);
  }
  for (const { name } of added.contexts) {
    const place = before.placeOfContext(name);
    if (place !== null && place !== after.placeOfContext(name)) refuse('context', name, place);
  }
  const places = added.clusters.map(({ name }) => after.placeOf(name));
  for (const { name } of added.users) {
    for (const context of existing.contexts) {
      const place = before.placeOfContext(context.name);
      const isUsed = partOf(before.context(context.name), 'context').user === name;
      if (isUsed && place !== null && !places.includes(place)) refuse('user', name, place);
    }
  }
}

/** Reads where names lead to: the address, and the name that the certificate must have if it is another. Null for nowhere. */
function reader({ clusters, contexts }: Pick<Existing, 'clusters' | 'contexts'>) {
  const context = (name: string) => contexts.find((each) => each.name === name);
  const placeOf = (cluster: unknown): string | null => {
    const found = clusters.find(({ name }) => name === cluster);
    if (found === undefined) return null;
    const { server, 'tls-server-name': host } = partOf(found, 'cluster');
    return host === undefined ? String(server) : `${server} (${host})`;
  };
  return {
    context,
    placeOf,
    placeOfContext: (name: string) => placeOf(partOf(context(name), 'context').cluster),
  };
}

/** The content of an entry. */
const partOf = (entry: Named | undefined, part: 'cluster' | 'user' | 'context'): Readonly<Record<string, unknown>> =>
  (entry?.[part] ?? {}) as Record<string, unknown>;
