import { randomUUID } from 'node:crypto';
import { type Clock, timestamp } from '../../clock.js';
import { publicAddresses } from '../../compute/addresses.js';
import { forbidden, notFound } from '../errors.js';
import { type Fields, fieldAt, type KubeObject } from '../object.js';
import type { ClusterContents } from '../shoots/shoot.js';
import type { Held, ObjectStore } from '../store.js';
import { type Node, nodesOf } from './nodes.js';

/** An API server of Kubernetes that has the objects of a Shoot's cluster in our place. */
export interface RealApiServer {
  readonly url: string;
  /** Bearer token with all rights. */
  readonly token: string;
  /** PEM. */
  readonly authority: string;
}

export const nodeResource = { group: '', plural: 'nodes', kind: 'Node' };

/** What is inside of the Shoots' clusters, kept with each Shoot. */
export class Clusters {
  readonly #listeners = new Set<(shoot: Held) => void>();
  /** The keys are uids of Shoots. */
  readonly #realApiServers = new Map<string, RealApiServer>();

  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
  ) {}

  /** Calls back after changes inside of a cluster. @returns a function that ends it */
  onChange(listener: (shoot: Held) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  read({ simulation }: Held): ClusterContents {
    return { joined: [], patches: {}, silent: [], objects: {}, ...simulation.inside };
  }

  change(shoot: Held, change: Partial<ClusterContents>): Held {
    const simulation = { ...shoot.simulation, inside: { ...this.read(shoot), ...change } };
    const changed = this.store.simulate('shoots', shoot, simulation);
    if (changed === null) throw new Error(`The Shoot ${shoot.namespace}/${shoot.name} is gone.`);
    for (const listener of [...this.#listeners]) listener(changed);
    return changed;
  }

  nodes(shoot: Held): Node[] {
    return nodesOf(shoot.simulation);
  }

  /** @throws StatusError 404 */
  node(shoot: Held, name: string): Node {
    const found = this.nodes(shoot).find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw notFound(nodeResource, name);
    return found;
  }

  /** Changes labels, annotations and whether pods may come, by a merge patch. @throws StatusError 404 */
  patchNode(shoot: Held, name: string, { metadata, spec = {} }: Fields): Node {
    this.node(shoot, name);
    const { patches } = this.read(shoot);
    const { labels = {}, annotations = {} } = (metadata ?? {}) as KubeObject['metadata'];
    const all = [...(patches[name] ?? []), { metadata: { labels, annotations }, spec }];
    return this.node(this.change(shoot, { patches: { ...patches, [name]: all } }), name);
  }

  /** @throws StatusError 404; 403 for the node of one of the Shoot's machines, which would come back */
  deleteNode(shoot: Held, name: string): void {
    this.node(shoot, name);
    const { joined, patches, objects, silent } = this.read(shoot);
    if (!joined.some((node) => node.name === name))
      throw forbidden(nodeResource, name, 'a machine of the Shoot is behind it');
    const { [name]: _, ...others } = patches;
    const isElsewhere = ([, object]: [string, KubeObject]): boolean => fieldAt(object, 'spec', 'nodeName') !== name;
    this.change(shoot, {
      joined: joined.filter((node) => node.name !== name),
      patches: others,
      objects: Object.fromEntries(Object.entries(objects).filter(isElsewhere)),
      silent: silent.filter((each) => each !== name),
    });
  }

  /** Stops or resumes the status reports of a node. It is not ready while silent. @throws StatusError 404 */
  silenceNode(shoot: Held, name: string, isSilent: boolean): void {
    this.node(shoot, name);
    const others = this.read(shoot).silent.filter((each) => each !== name);
    this.change(shoot, { silent: isSilent ? [...others, name] : others });
  }

  /** The server that has all objects but nodes; null while they are here. */
  realApiServer = ({ uid }: Held): RealApiServer | null => this.#realApiServers.get(uid) ?? null;

  useRealApiServer({ uid }: Held, server: RealApiServer): void {
    this.#realApiServers.set(uid, server);
  }

  /** Stores an object. It keeps its status unless it brings one. A load balancer gets addresses, and a Deployment its Pods. */
  putObject(shoot: Held, key: string, object: KubeObject): KubeObject {
    const { objects } = this.read(shoot);
    const before = objects[key];
    const {
      uid = randomUUID(),
      creationTimestamp = timestamp(this.clock.now()),
      resourceVersion = '0',
    } = before?.metadata ?? {};
    const made = { uid, creationTimestamp, resourceVersion: String(Number(resourceVersion) + 1) };
    const status = object.status ?? statusOf(object, uid) ?? before?.status;
    const put = { ...object, metadata: { ...object.metadata, ...made }, ...(status === undefined ? {} : { status }) };
    this.change(shoot, { objects: { ...objects, [key]: put } });
    return put;
  }

  deleteObject(shoot: Held, key: string): void {
    const { [key]: _, ...objects } = this.read(shoot).objects;
    this.change(shoot, { objects });
  }
}

/** What controllers of a cluster would say about an object. */
function statusOf(object: KubeObject, uid: string): KubeObject['status'] {
  const isBalancer = object.kind === 'Service' && fieldAt(object, 'spec', 'type') === 'LoadBalancer';
  if (isBalancer) return { loadBalancer: { ingress: publicAddresses(uid).map((ip) => ({ ip })) } };
  return object.kind === 'Deployment' ? { updatedReplicas: 1, availableReplicas: 1 } : undefined;
}
