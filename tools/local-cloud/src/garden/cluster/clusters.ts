import { type Clock, timestamp } from '../../clock.js';
import { type Simulation, simulationOf } from '../gardenlet/simulation.js';
import { type Secret, secrets as secretKind } from '../kinds/core-kinds.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { invalid } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import { alreadyExists, invalidObject, notFound } from '../kube/status-error.js';
import { type Held, objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import { type ClusterContents, emptyContents, type HeldPod, without } from './contents.js';
import { deletedNode, nodeResource, patchedNode } from './node-writes.js';
import { type Node, nodesOf, unmarkedNodesOf } from './nodes.js';
import { evicted, podObject } from './pods.js';
import { configSecretsOf, isExpired, isWellFormed } from './secrets.js';

export const podResource = { group: '', plural: 'pods', kind: 'Pod' };

/** The contents of the Shoots' clusters, stored with each Shoot. Reads and writes are synchronous. */
export class Clusters {
  readonly #listeners = new Set<(shoot: Held) => void>();

  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
  ) {}

  /** Registers a listener for changes inside a Shoot's cluster. @returns a function that removes it */
  onChange(listener: (shoot: Held) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  read(shoot: Held): ClusterContents {
    const { inside = emptyContents } = simulationOf(shoot);
    const tokens = inside.tokens.filter((token) => !isExpired(token, this.clock.now()));
    return tokens.length === inside.tokens.length ? inside : { ...inside, tokens };
  }

  write(shoot: Held, inside: ClusterContents): void {
    this.store.hide('shoots', shoot, { ...simulationOf(shoot), inside } satisfies Simulation);
    const current = this.store.get('shoots', shoot.namespace, shoot.name);
    if (current !== null) for (const listener of [...this.#listeners]) listener(current);
  }

  nodes(shoot: Held): Node[] {
    return nodesOf(simulationOf(shoot));
  }

  /** @throws StatusError 404 */
  node(shoot: Held, name: string): Node {
    return named(this.nodes(shoot), name) ?? refuse(notFound(nodeResource, name));
  }

  /** @param patch merge patch */
  patchNode(shoot: Held, name: string, patch: unknown): Node {
    const shown = this.node(shoot, name);
    const own = named(unmarkedNodesOf(simulationOf(shoot)), name) ?? shown;
    this.write(shoot, patchedNode(this.read(shoot), own, shown, patch));
    return this.node(this.#current(shoot), name);
  }

  deleteNode(shoot: Held, name: string): void {
    this.node(shoot, name);
    this.write(shoot, deletedNode(this.read(shoot), name));
  }

  /** Stops or resumes a node's status reports. It is not Ready while silent. @throws StatusError 404 */
  silenceNode(shoot: Held, name: string, isSilent: boolean): void {
    this.node(shoot, name);
    const contents = this.read(shoot);
    const { silent } = contents;
    const next = isSilent ? { ...silent, [name]: silent[name] ?? this.#now() } : without(silent, name);
    this.write(shoot, { ...contents, revision: contents.revision + 1, silent: next });
  }

  /** Secrets of the system namespace. No other namespace has Secrets. */
  secrets(shoot: Held): Secret[] {
    const all = [...configSecretsOf(objectOf<Shoot>(shoot), simulationOf(shoot)), ...this.read(shoot).tokens];
    return all.sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  }

  secret(shoot: Held, name: string): Secret {
    return named(this.secrets(shoot), name) ?? refuse(notFound(secretKind, name));
  }

  /** @throws StatusError 409, 422 */
  createToken(shoot: Held, secret: Secret, uid: string): Secret {
    const { name = '' } = secret.metadata;
    if (!isWellFormed(secret)) {
      throw invalidObject(secretKind, name, [invalid('data', null, 'must be a bootstrap token to join with')]);
    }
    if (named(this.secrets(shoot), name) !== undefined) throw alreadyExists(secretKind, name);
    const contents = this.read(shoot);
    const revision = contents.revision + 1;
    const made = { uid, resourceVersion: String(revision), creationTimestamp: this.#now() };
    const token = { ...secret, metadata: { ...secret.metadata, ...made } };
    this.write(shoot, { ...contents, revision, tokens: [...contents.tokens, token] });
    return token;
  }

  /** @returns false if it is not a bootstrap token; only these can be deleted */
  deleteToken(shoot: Held, name: string): boolean {
    const contents = this.read(shoot);
    const tokens = contents.tokens.filter((token) => token.metadata.name !== name);
    if (tokens.length === contents.tokens.length) return false;
    this.write(shoot, { ...contents, revision: contents.revision + 1, tokens });
    return true;
  }

  pods(shoot: Held): KubeObject[] {
    const uids = new Map(this.nodes(shoot).map(({ metadata }) => [metadata.name, metadata.uid]));
    const keyOf = ({ namespace, name }: HeldPod): string => `${namespace}/${name}`;
    return [...this.read(shoot).pods]
      .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
      .map((pod) => podObject(pod, uids.get(pod.node) ?? ''));
  }

  /** @throws StatusError 404 */
  pod(shoot: Held, namespace: string, name: string): HeldPod {
    const isMeant = (pod: HeldPod): boolean => pod.namespace === namespace && pod.name === name;
    return this.read(shoot).pods.find(isMeant) ?? refuse(notFound(podResource, name));
  }

  evictPod(shoot: Held, pod: HeldPod): void {
    this.write(shoot, evicted(this.read(shoot), pod, this.#now()));
  }

  #current({ namespace, name }: Held): Held {
    const current = this.store.get('shoots', namespace, name);
    if (current === null) throw new Error(`The Shoot ${namespace}/${name} is gone.`);
    return current;
  }

  #now = (): string => timestamp(this.clock.now());
}

const named = <T extends KubeObject>(objects: readonly T[], name: string): T | undefined =>
  objects.find(({ metadata }) => metadata.name === name);

function refuse(error: Error): never {
  throw error;
}
