import { randomUUID } from 'node:crypto';
import { type Clock, timestamp } from '../../clock.js';
import { publicAddresses } from '../../compute/addresses.js';
import { type Secret, secrets as secretKind } from '../kinds/core-kinds.js';
import { alreadyExists, forbidden, notFound } from '../kube/errors.js';
import { type Fields, fieldAt, type KubeObject } from '../kube/object.js';
import type { RealApiServer } from '../shoot-api/real-api-server.js';
import type { Shoot } from '../shoots/shoot.js';
import { type Held, type ObjectStore, objectOf } from '../store.js';
import { type ClusterContents, emptyContents, type Pod } from './contents.js';
import { type Node, nodesOf } from './nodes.js';
import { configSecretsOf, isExpired } from './secrets.js';

export const nodeResource = { group: '', plural: 'nodes', kind: 'Node' };
export const podResource = { group: '', plural: 'pods', kind: 'Pod' };

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
    const inside = { ...emptyContents, ...simulation.inside };
    return { ...inside, tokens: inside.tokens.filter((token) => !isExpired(token, this.clock.now())) };
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
    return this.nodes(shoot).find(({ metadata }) => metadata.name === name) ?? refuse(notFound(nodeResource, name));
  }

  /** Changes labels, annotations and whether pods may come, by a merge patch. @throws StatusError 404 */
  patchNode(shoot: Held, name: string, patch: Fields): Node {
    this.node(shoot, name);
    const { patches } = this.read(shoot);
    const { metadata: { labels = {}, annotations = {} } = {}, spec = {} } = patch as unknown as Partial<KubeObject>;
    const change = { metadata: { labels, annotations }, spec: spec as Fields };
    const all = [patches[name] ?? [], change].flat();
    return this.node(this.change(shoot, { patches: { ...patches, [name]: all } }), name);
  }

  /** @throws StatusError 404; 403 for the node of one of the Shoot's machines, which would come back */
  deleteNode(shoot: Held, name: string): void {
    this.node(shoot, name);
    const { joined, patches, pods, silent } = this.read(shoot);
    if (!joined.some((node) => node.name === name))
      throw forbidden(nodeResource, name, 'a machine of the Shoot is behind it');
    const { [name]: _, ...others } = patches;
    this.change(shoot, {
      joined: joined.filter((node) => node.name !== name),
      patches: others,
      pods: pods.filter((pod) => pod.node !== name),
      silent: silent.filter((each) => each !== name),
    });
  }

  /** Stops or resumes the status reports of a node. It is not ready while silent. @throws StatusError 404 */
  silenceNode(shoot: Held, name: string, isSilent: boolean): void {
    this.node(shoot, name);
    const others = this.read(shoot).silent.filter((each) => each !== name);
    this.change(shoot, { silent: isSilent ? [...others, name] : others });
  }

  /** Those of the system namespace: no other one has Secrets. */
  secrets(shoot: Held): Secret[] {
    return [...configSecretsOf(objectOf<Shoot>(shoot), shoot.simulation), ...this.read(shoot).tokens];
  }

  /** @throws StatusError 404 */
  secret(shoot: Held, name: string): Secret {
    return this.secrets(shoot).find(({ metadata }) => metadata.name === name) ?? refuse(notFound(secretKind, name));
  }

  /** @throws StatusError 409 */
  createToken(shoot: Held, secret: Secret): Secret {
    const { name = '' } = secret.metadata;
    const { tokens } = this.read(shoot);
    if (tokens.some(({ metadata }) => metadata.name === name)) throw alreadyExists(secretKind, name);
    const made = { uid: randomUUID(), resourceVersion: '1', creationTimestamp: timestamp(this.clock.now()) };
    const token = { ...secret, metadata: { ...secret.metadata, ...made } };
    this.change(shoot, { tokens: [...tokens, token] });
    return token;
  }

  deleteToken(shoot: Held, name: string): void {
    this.change(shoot, { tokens: this.read(shoot).tokens.filter(({ metadata }) => metadata.name !== name) });
  }

  /** @throws StatusError 404 */
  pod(shoot: Held, namespace: string, name: string): Pod {
    const isMeant = (pod: Pod): boolean => pod.namespace === namespace && pod.name === name;
    return this.read(shoot).pods.find(isMeant) ?? refuse(notFound(podResource, name));
  }

  /** The server that has all objects but nodes, pods and what nodes need; null while they are here. */
  realApiServer = ({ uid }: Held): RealApiServer | null => this.#realApiServers.get(uid) ?? null;

  useRealApiServer({ uid }: Held, server: RealApiServer): void {
    this.#realApiServers.set(uid, server);
  }

  /** Objects of all kinds that have no function of their own here, by `group/plural/namespace/name`. */
  objects(shoot: Held): ClusterContents['objects'] {
    return this.read(shoot).objects;
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

  evictPod(shoot: Held, { uid }: Pod): void {
    this.change(shoot, { pods: this.read(shoot).pods.filter((pod) => pod.uid !== uid) });
  }
}

/** What controllers of a cluster would say about an object. */
function statusOf(object: KubeObject, uid: string): KubeObject['status'] {
  const isBalancer = object.kind === 'Service' && fieldAt(object, 'spec', 'type') === 'LoadBalancer';
  if (isBalancer) return { loadBalancer: { ingress: publicAddresses(uid).map((ip) => ({ ip })) } };
  return object.kind === 'Deployment' ? { updatedReplicas: 1, availableReplicas: 1 } : undefined;
}

function refuse(error: Error): never {
  throw error;
}
