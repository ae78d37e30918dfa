import { randomUUID, X509Certificate } from 'node:crypto';
import { type Clock, timestamp } from '../../clock.js';
import type { JoinData, JoiningMachine, JoinOutcome, ShootsOfMachines } from '../../compute/machines.js';
import { simulationOf } from '../gardenlet/simulation.js';
import { type Shoot, workersOf } from '../kinds/shoot/shoot.js';
import { type Held, keyOf, objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import { isServing } from '../shoot-api/shoot-authorities.js';
import type { Clusters } from './clusters.js';
import type { ClusterContents, JoinedNode } from './contents.js';
import { providerIdOf } from './nodes.js';
import { firstPodsOf } from './pods.js';
import { admits, configSecretsOf } from './secrets.js';

/** Joins machines to Shoots as nodes and updates these nodes when the machines change. */
export class JoiningMachines implements ShootsOfMachines {
  /** Keys of the Shoots in which a server has a node. */
  readonly #shootsOf = new Map<number, Set<string>>();

  constructor(
    private readonly store: ObjectStore,
    private readonly clusters: Clusters,
    private readonly clock: Clock,
  ) {
    for (const held of store.list('shoots')) {
      for (const node of clusters.read(held).joined) this.#remember(node.serverId, held);
    }
  }

  join(machine: JoiningMachine, data: JoinData): JoinOutcome {
    const held = this.#shootFor(data);
    if (held === null) return 'never';
    const contents = this.clusters.read(held);
    if (!admits(contents.tokens, data.bootstrapToken, this.clock.now())) return 'never';
    if (!isServing(held)) return 'later';
    const pool = poolFor(held, machine, data);
    const name = data.hostname ?? machine.name.toLowerCase();
    if (pool === null || !isFree(this.clusters, held, name, machine.serverId)) return 'never';
    this.clusters.write(held, withNode(contents, { machine, pool, name, at: timestamp(this.clock.now()) }));
    this.#remember(machine.serverId, held);
    return 'joined';
  }

  heard(serverId: number, rebuild: number | null): void {
    for (const key of this.#shootsOf.get(serverId) ?? []) {
      const [namespace = '', name = ''] = key.split('/');
      const held = this.store.get('shoots', namespace, name);
      if (held === null) continue;
      const contents = this.clusters.read(held);
      const isHere = (node: JoinedNode): boolean => node.serverId === serverId;
      const ready = (node: JoinedNode): boolean => node.rebuild === rebuild;
      if (!contents.joined.some((node) => isHere(node) && node.isReady !== ready(node))) continue;
      const revision = contents.revision + 1;
      const since = timestamp(this.clock.now());
      const joined = contents.joined.map((node) =>
        isHere(node) ? { ...node, isReady: ready(node), since, revision } : node,
      );
      this.clusters.write(held, { ...contents, revision, joined });
    }
  }

  /** Shoots share an address. The certificate authority identifies the Shoot. */
  #shootFor({ server, certificateAuthority }: JoinData): Held | null {
    const trusted = fingerprintsIn(certificateAuthority);
    const isMeant = (held: Held): boolean => {
      const { authority } = simulationOf(held);
      if (authority === undefined || !fingerprintsIn(authority.certificate).some((each) => trusted.includes(each))) {
        return false;
      }
      const { advertisedAddresses = [] } = objectOf<Shoot>(held).status;
      return advertisedAddresses.some(({ url }) => url === server.replace(/\/$/, ''));
    };
    return this.store.list('shoots').find(isMeant) ?? null;
  }

  #remember(serverId: number | null, { namespace, name }: Held): void {
    if (serverId === null) return;
    this.#shootsOf.set(serverId, new Set(this.#shootsOf.get(serverId)).add(keyOf(namespace, name)));
  }
}

/** The pool configured by a Secret; null if there is none or its architecture differs from the machine's. */
function poolFor(held: Held, { architecture }: JoiningMachine, { secretName }: JoinData): string | null {
  const simulation = simulationOf(held);
  const secret = configSecretsOf(objectOf(held), simulation).find(({ metadata }) => metadata.name === secretName);
  const pool = secret?.metadata.labels?.['worker.gardener.cloud/pool'];
  const workers = simulation.reconciled === undefined ? [] : workersOf(simulation.reconciled.spec);
  const worker = workers.find(({ name }) => name === pool);
  return worker !== undefined && (worker.machine.architecture ?? 'amd64') === architecture ? worker.name : null;
}

/** Whether the name is available: an existing node can rejoin only from its own machine. */
function isFree(clusters: Clusters, held: Held, name: string, serverId: number | null): boolean {
  const node = clusters.nodes(held).find(({ metadata }) => metadata.name === name);
  return node === undefined || node.spec.providerID === providerIdOf(serverId);
}

function withNode(
  contents: ClusterContents,
  { machine, pool, name, at }: { machine: JoiningMachine; pool: string; name: string; at: string },
): ClusterContents {
  const revision = contents.revision + 1;
  const before = contents.joined.find((node) => node.name === name);
  const { serverId, rebuild } = machine;
  const node: JoinedNode = {
    name,
    pool,
    serverId,
    rebuild,
    uid: before?.uid ?? randomUUID(),
    createdAt: before?.createdAt ?? at,
    isReady: true,
    since: at,
    revision,
  };
  const others = contents.joined.filter((each) => each.name !== name);
  const pods = before === undefined ? [...contents.pods, ...firstPodsOf(node, at, revision)] : contents.pods;
  return { ...contents, revision, joined: [...others, node], pods };
}

function fingerprintsIn(pem: string): string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block).fingerprint256];
    } catch {
      return [];
    }
  });
}
