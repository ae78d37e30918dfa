import { GardenError, type NodePatch, type NodeReading, type ShootNodes } from '@corral/garden';

interface FakeNode {
  readonly uid: string;
  isReady: boolean;
  isUnschedulable: boolean;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  pods: number;
}

/** The contents of one Shoot, with its nodes by name. */
export interface FakeShoot {
  readonly nodes: Map<string, FakeNode>;
  /** Names of nodes with a valid join token. */
  readonly tokens: Set<string>;
  /** Its API server answers. */
  isUp: boolean;
  hasWorkerPool: boolean;
  /** Disruption budgets forbid every eviction. */
  keepsPods: boolean;
  /** Number of pods on a new node. */
  podsOfNode: number;
  /** Number of evictions since the last node registered. */
  evictions: number;
}

const apiServerOf = (shootName: string): string => `https://api.${shootName}.example.org`;
/** @returns the name of the Shoot in the user data, or null */
export const shootIn = (userData: string | null): string | null =>
  /https:\/\/api\.([a-z0-9-]+)\.example\.org/.exec(userData ?? '')?.[1] ?? null;

/** Shoots in memory, as their own API servers present them. */
export function fakeShoots() {
  const shoots = new Map<string, FakeShoot>();
  let uids = 0;
  let undrained = 0;
  const of = (name: string): FakeShoot => {
    const shoot = shoots.get(name);
    if (shoot === undefined) throw new GardenError('not_found', `shoot ${name}`);
    return shoot;
  };
  const upOf = (name: string): FakeShoot => {
    const shoot = of(name);
    if (!shoot.isUp) throw new GardenError('unreachable', `shoot ${name}`);
    return shoot;
  };
  const nodeIn = (shootName: string, name: string): FakeNode => {
    const node = upOf(shootName).nodes.get(name);
    if (node === undefined) throw new GardenError('not_found', `node ${name}`);
    return node;
  };
  return {
    of,
    /** Number of nodes that were deleted without an eviction. */
    undrained: () => undrained,
    add(name: string) {
      const shoot: FakeShoot = {
        nodes: new Map(),
        tokens: new Set(),
        isUp: true,
        hasWorkerPool: true,
        keepsPods: false,
        podsOfNode: 2,
        evictions: 0,
      };
      shoots.set(name, shoot);
      return shoot;
    },
    /** Registers the node of a machine with join data, or reuses the existing Node. */
    register(shootName: string, nodeName: string) {
      const shoot = of(shootName);
      const known = shoot.nodes.get(nodeName);
      if (known !== undefined) {
        known.isReady = true;
        return known;
      }
      uids += 1;
      const fresh = { isReady: true, isUnschedulable: false, labels: {}, annotations: {}, pods: shoot.podsOfNode };
      const node: FakeNode = { uid: `uid-${uids}`, ...fresh };
      shoot.nodes.set(nodeName, node);
      shoot.evictions = 0;
      return node;
    },
    /** Nodes of any Shoot, by name. */
    nodesNamed: (nodeName: string) =>
      [...shoots].flatMap(([shoot, { nodes }]) => {
        const node = nodes.get(nodeName);
        return node === undefined ? [] : [{ shoot, node }];
      }),
    nodes: {
      async joinData({ name }, { nodeName }) {
        if (!upOf(name).hasWorkerPool) throw new GardenError('not_found', 'worker pool');
        of(name).tokens.add(nodeName);
        return {
          server: apiServerOf(name),
          certificateAuthority: certificate,
          bootstrapToken: 'abcdef.0123456789abcdef',
          configSecretName: 'gardener-node-agent-p1-77ac3',
          kubernetesVersion: '1.33.2',
          nodeAgentImage: 'registry.example.org/gardener/node-agent:v1.120.0',
        };
      },
      async endJoin({ name: shootName }, nodeName) {
        upOf(shootName).tokens.delete(nodeName);
      },
      async readNode({ name: shootName }, name): Promise<NodeReading | null> {
        const node = upOf(shootName).nodes.get(name);
        if (node === undefined) return null;
        const { pods: _pods, ...reading } = node;
        return { name, externalIps: [], ...reading };
      },
      async patchNode({ name: shootName }, name, { labels, annotations, isUnschedulable }: NodePatch) {
        const node = nodeIn(shootName, name);
        node.labels = { ...node.labels, ...labels };
        node.annotations = { ...node.annotations, ...annotations };
        node.isUnschedulable = isUnschedulable ?? node.isUnschedulable;
      },
      async evictPods({ name: shootName }, name) {
        const node = nodeIn(shootName, name);
        const shoot = upOf(shootName);
        shoot.evictions += 1;
        if (!shoot.keepsPods) node.pods = Math.max(0, node.pods - 1);
        return node.pods;
      },
      async deleteNode({ name: shootName }, name) {
        const { nodes, evictions } = upOf(shootName);
        // A node whose machine is being wiped has nothing to drain.
        if (nodes.get(name)?.isReady === true && evictions === 0) undrained += 1;
        nodes.delete(name);
      },
    } satisfies ShootNodes as ShootNodes,
  };
}
export type FakeShoots = ReturnType<typeof fakeShoots>;

const certificate = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n';
