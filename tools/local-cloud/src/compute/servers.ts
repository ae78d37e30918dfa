import { type Clock, timestamp } from '../clock.js';
import { type Action, type ActionError, ApiError, notFound } from '../hcloud/answers.js';
import { openJournal } from '../journal.js';
import type { Labels } from '../labels.js';

/** The provider's names. */
type Architecture = 'x86' | 'arm';

export interface SystemImage {
  readonly id: number;
  readonly name: string;
  readonly architecture: Architecture;
}

/** The provider's images: one per architecture under each name. */
export const images: readonly SystemImage[] = [
  { id: 114_690_387, name: 'debian-12', architecture: 'x86' },
  { id: 114_690_389, name: 'debian-12', architecture: 'arm' },
  { id: 161_547_269, name: 'ubuntu-24.04', architecture: 'x86' },
  { id: 161_547_270, name: 'ubuntu-24.04', architecture: 'arm' },
  { id: 67_794_396, name: 'ubuntu-22.04', architecture: 'x86' },
  { id: 103_908_130, name: 'ubuntu-22.04', architecture: 'arm' },
];

/** Finds an image by id or name. A name selects the image for the architecture. */
const findImage = (reference: string, architecture: Architecture): SystemImage | null =>
  images.find(({ id }) => String(id) === reference) ??
  images.find((image) => image.name === reference && image.architecture === architecture) ??
  null;

/** A stored server. Immutable. */
export interface Server {
  readonly id: number;
  /** Project of the server. */
  readonly project: string;
  readonly name: string;
  readonly created: string;
  readonly serverType: string;
  readonly architecture: Architecture;
  readonly location: string;
  readonly labels: Labels;
  readonly imageId: number | null;
  readonly protection: { readonly delete: boolean; readonly rebuild: boolean };
  /** Locked by the provider, without an action. */
  readonly locked: boolean;
  readonly rescueEnabled: boolean;
  /** Stored power state, before the effect of actions. */
  readonly power: 'running' | 'off';
  /** False if created without SSH keys: a rebuild then answers a new password. */
  readonly hasSshKeys: boolean;
  readonly userData: string | null;
  readonly rebuilds: number;
  readonly powerOffs: number;
  readonly deletedBy: 'api' | 'admin' | null;
  /** Id of the last rebuild action; null if never rebuilt. */
  readonly rebuild: number | null;
  /** The rebuild whose user data was processed. */
  readonly firstBoot: number | null;
  /** Whether the join started by its user data works. */
  readonly joins: boolean;
}

export interface ServerAction extends Action {
  readonly serverId: number;
  /** Image of a successful rebuild; null for other actions. */
  readonly imageId: number | null;
}

/** What a server currently runs from. */
export interface RunState {
  readonly server: Server;
  /** Null while it does not run or if it was never rebuilt. */
  readonly rebuild: number | null;
  /** End of the last or current rebuild, in milliseconds since 1970; null if never rebuilt. */
  readonly rebuiltAt: number | null;
}

/** What can be set by hand. Omitted fields have defaults. */
type Settable =
  | ('id' | 'name' | 'serverType' | 'architecture' | 'location' | 'labels' | 'protection' | 'locked' | 'rescueEnabled')
  | ('hasSshKeys' | 'joins');

export interface ServerOptions extends Partial<Pick<Server, Settable>> {
  readonly image?: string | null;
}

const FIRST_SERVER = 4_711;
/** Far above the ids of DNS actions: both are served under one path. */
const FIRST_ACTION = 5_000_001;

const newServer = {
  location: 'hel1',
  labels: {},
  protection: { delete: false, rebuild: false },
  locked: false,
  rescueEnabled: false,
  power: 'running',
  hasSshKeys: true,
  userData: null,
  rebuilds: 0,
  powerOffs: 0,
  deletedBy: null,
  rebuild: null,
  firstBoot: null,
  joins: true,
} as const;

/** The servers of all projects and their actions. */
export class Servers {
  readonly #servers = new Map<number, Server>();
  readonly #actions = new Map<number, ServerAction>();
  readonly #listeners = new Set<(id: number) => void>();
  readonly #journal;

  constructor(
    private readonly clock: Clock,
    private readonly actionMs: number,
    dataDir: string | undefined,
  ) {
    this.#journal = openJournal(dataDir, 'servers.jsonl');
    for (const [key, value] of this.#journal.kept) {
      const [what, id] = key.split(' ');
      if (what === 'server') this.#servers.set(Number(id), value as Server);
      else this.#actions.set(Number(id), value as ServerAction);
    }
  }

  close(): void {
    this.#journal.close();
  }

  /** Registers a listener that is called after each change of a server. @returns a function that removes it */
  onChange(listener: (id: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  add(project: string, { image = 'ubuntu-22.04', ...options }: ServerOptions): Server {
    const { architecture = 'x86' } = options;
    const id = options.id ?? Math.max(FIRST_SERVER - 1, ...this.#servers.keys()) + 1;
    if (this.#servers.has(id)) throw new Error(`There is a server ${id} already. Take another number.`);
    return this.#changed({
      ...newServer,
      id,
      project,
      name: `server-${id}`,
      created: timestamp(this.clock.now()),
      serverType: architecture === 'arm' ? 'cax11' : 'cx22',
      architecture,
      imageId: image === null ? null : (findImage(image, architecture)?.id ?? null),
      ...options,
    });
  }

  /** Changes a server without checking any rule, like a manual change. `deletedBy` deletes it. */
  change(id: number, change: Omit<ServerOptions, 'id' | 'image'> | Pick<Server, 'deletedBy'>): Server {
    const server = this.#servers.get(id);
    if (server === undefined) throw new Error(`There is no server ${id}.`);
    return this.#changed({ ...this.#settled(server), ...change });
  }

  /** All servers ever created, by id. */
  list(): Server[] {
    return [...this.#servers.values()].map((server) => this.#settled(server)).sort((a, b) => a.id - b.id);
  }

  inProject(project: string): Server[] {
    return this.list().filter((server) => server.project === project && server.deletedBy === null);
  }

  /** @throws ApiError `not_found`, also for a server of another project */
  get(project: string, id: number): Server {
    const server = this.#servers.get(id);
    if (server === undefined || server.project !== project || server.deletedBy !== null) throw notFound('server');
    return this.#settled(server);
  }

  /** Newest first. */
  actionsOf({ id }: Pick<Server, 'id'>): ServerAction[] {
    return [...this.#actions.values()].filter(({ serverId }) => serverId === id).sort((a, b) => b.id - a.id);
  }

  findAction(project: string, id: number): ServerAction | null {
    const action = this.#actions.get(id);
    return action !== undefined && this.#servers.get(action.serverId)?.project === project ? action : null;
  }

  isRunning = ({ finishesAt }: Pick<ServerAction, 'finishesAt'>): boolean => this.clock.now() < finishesAt;

  isLocked(server: Server): boolean {
    return server.locked || this.actionsOf(server).some(this.isRunning);
  }

  /** @returns null for an unknown server */
  runState(id: number): RunState | null {
    const held = this.#servers.get(id);
    if (held === undefined) return null;
    const rebuilds = this.actionsOf(held).filter(({ imageId }) => imageId !== null);
    // Find the running rebuild before settling the server: a rebuild that ends in between counts as running.
    const underWay = rebuilds.find(this.isRunning);
    const server = this.#settled(held);
    const isRunning = server.deletedBy === null && server.power === 'running' && underWay === undefined;
    const last = underWay ?? rebuilds.find((action) => action.id === server.rebuild);
    return { server, rebuild: isRunning ? server.rebuild : null, rebuiltAt: last?.finishesAt ?? null };
  }

  /** Records that the user data of this rebuild was processed, so it is processed only once. */
  noteFirstBoot(server: Server, rebuild: number): void {
    this.#save({ ...server, firstBoot: rebuild });
  }

  putLabels(server: Server, labels: Labels): Server {
    return this.#save({ ...server, labels });
  }

  /**
   * Rebuilds the server. Every call wipes it again.
   *
   * @throws ApiError `protected`, `locked`, `invalid_input`
   */
  rebuild(
    server: Server,
    order: { image: string; userData?: string | undefined; error: ActionError | null },
  ): ServerAction {
    if (server.protection.rebuild) throw new ApiError(423, 'protected', 'server is rebuild protected');
    this.#refuseLocked(server);
    const image = findImage(order.image, server.architecture);
    if (image === null) throw new ApiError(404, 'not_found', `image '${order.image}' not found`);
    // If omitted, the previous user data is used again.
    this.#save({ ...server, rebuilds: server.rebuilds + 1, userData: order.userData ?? server.userData });
    return this.#begin(server, 'rebuild_server', { error: order.error, imageId: image.id });
  }

  /** @throws ApiError `locked` */
  powerOff(server: Server): ServerAction {
    this.#refuseLocked(server);
    this.#save({ ...server, power: 'off', powerOffs: server.powerOffs + 1 });
    return this.#begin(server, 'stop_server');
  }

  /** @throws ApiError `protected`, `locked` */
  remove(server: Server): ServerAction {
    if (server.protection.delete) throw new ApiError(423, 'protected', 'server deletion is protected');
    this.#refuseLocked(server);
    this.#save({ ...server, deletedBy: 'api' });
    return this.#begin(server, 'delete_server');
  }

  #refuseLocked(server: Server): void {
    if (this.isLocked(server)) throw new ApiError(423, 'locked', 'server is locked');
  }

  #begin(
    { id: serverId }: Server,
    command: string,
    { error = null, imageId = null }: Partial<Pick<ServerAction, 'error' | 'imageId'>> = {},
  ): ServerAction {
    const startedAt = this.clock.now();
    const id = Math.max(FIRST_ACTION - 1, ...this.#actions.keys()) + 1;
    const action = { id, serverId, command, startedAt, finishesAt: startedAt + this.actionMs, error, imageId };
    this.#actions.set(id, action);
    this.#journal.keep([`action ${id}`, action]);
    this.#notify(serverId);
    return action;
  }

  /** The server with the effect of the last finished rebuild. */
  #settled(server: Server): Server {
    const last = this.actionsOf(server).find(({ imageId, error }) => imageId !== null && error === null);
    if (last === undefined || this.isRunning(last) || last.id === server.rebuild) return server;
    return this.#save({ ...server, imageId: last.imageId, power: 'running', rebuild: last.id });
  }

  #changed(server: Server): Server {
    this.#save(server);
    this.#notify(server.id);
    return server;
  }

  #notify(id: number): void {
    for (const listener of [...this.#listeners]) listener(id);
  }

  #save(server: Server): Server {
    this.#servers.set(server.id, server);
    this.#journal.keep([`server ${server.id}`, server]);
    return server;
  }
}
