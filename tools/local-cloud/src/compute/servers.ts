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
  { id: 161_547_269, name: 'ubuntu-24.04', architecture: 'x86' },
  { id: 161_547_270, name: 'ubuntu-24.04', architecture: 'arm' },
  { id: 67_794_396, name: 'ubuntu-22.04', architecture: 'x86' },
  { id: 103_908_130, name: 'ubuntu-22.04', architecture: 'arm' },
];

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
  /** False if created without SSH keys: a rebuild then answers a new password. */
  readonly hasSshKeys: boolean;
  readonly userData: string | null;
  readonly rebuilds: number;
  /** Requests that Corral must never send, such as `poweroff`. All were refused. */
  readonly harms: readonly string[];
  /** Id of the last rebuild that has ended well; null if never rebuilt. */
  readonly rebuild: number | null;
  /** The rebuild whose user data was processed. */
  readonly firstBoot: number | null;
}

/** A rebuild: the provider's only action on a server here. */
export interface ServerAction extends Action {
  readonly serverId: number;
  readonly imageId: number;
}

/** What can be set by hand. Omitted fields have defaults. */
type Settable = 'id' | 'name' | 'serverType' | 'architecture' | 'location' | 'labels' | 'protection' | 'locked';
export type ServerOptions = Partial<Pick<Server, Settable | 'hasSshKeys'>>;

const FIRST_SERVER = 4_711;
/** Far above the ids of DNS actions. */
const FIRST_ACTION = 5_000_001;

const newServer = {
  location: 'hel1',
  labels: {},
  protection: { delete: false, rebuild: false },
  locked: false,
  hasSshKeys: true,
  userData: null,
  rebuilds: 0,
  harms: [],
  rebuild: null,
  firstBoot: null,
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

  add(project: string, options: ServerOptions): Server {
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
      imageId: images.findLast((image) => image.architecture === architecture)?.id ?? null,
      ...options,
    });
  }

  /** Changes a server without checking any rule. */
  change(id: number, change: Partial<Server>): Server {
    const server = this.#servers.get(id);
    if (server === undefined) throw new Error(`There is no server ${id}.`);
    return this.#changed({ ...this.#settled(server), ...change });
  }

  /** All servers ever created, by id. */
  list(): Server[] {
    return [...this.#servers.values()].map((server) => this.#settled(server)).sort((a, b) => a.id - b.id);
  }

  inProject(project: string): Server[] {
    return this.list().filter((server) => server.project === project);
  }

  find(id: number): Server | null {
    const server = this.#servers.get(id);
    return server === undefined ? null : this.#settled(server);
  }

  /** @throws ApiError `not_found`, also for a server of another project */
  get(project: string, id: number): Server {
    const server = this.find(id);
    if (server?.project !== project) throw notFound('server');
    return server;
  }

  /** Newest first. */
  actionsOf({ id }: Pick<Server, 'id'>): ServerAction[] {
    return [...this.#actions.values()].filter(({ serverId }) => serverId === id).sort((a, b) => b.id - a.id);
  }

  findAction(project: string, id: number): ServerAction | null {
    const action = this.#actions.get(id);
    return action !== undefined && this.#servers.get(action.serverId)?.project === project ? action : null;
  }

  isRebuilding(server: Server): boolean {
    const [last] = this.actionsOf(server);
    return last !== undefined && this.clock.now() < last.finishesAt;
  }

  /**
   * Rebuilds the server. Every call wipes it again.
   *
   * @param order without user data, that of the last time is used again
   * @throws ApiError `protected`, `locked`, `not_found`
   */
  rebuild(
    server: Server,
    order: { image: number; userData?: string | undefined; error: ActionError | null },
  ): ServerAction {
    if (server.protection.rebuild) throw new ApiError(423, 'protected', 'server is rebuild protected');
    if (server.locked || this.isRebuilding(server)) throw new ApiError(423, 'locked', 'server is locked');
    const image = images.find(({ id, architecture }) => id === order.image && architecture === server.architecture);
    if (image === undefined) throw notFound(`image '${order.image}'`);
    const startedAt = this.clock.now();
    const action = {
      id: Math.max(FIRST_ACTION - 1, ...this.#actions.keys()) + 1,
      serverId: server.id,
      command: 'rebuild_server',
      startedAt,
      finishesAt: startedAt + this.actionMs,
      error: order.error,
      imageId: image.id,
    };
    this.#actions.set(action.id, action);
    this.#journal.keep([`action ${action.id}`, action]);
    this.#changed({ ...server, rebuilds: server.rebuilds + 1, userData: order.userData ?? server.userData });
    return action;
  }

  /** Records that the user data of the last rebuild was processed, so it is processed only once. */
  noteFirstBoot(server: Server): void {
    this.#save({ ...server, firstBoot: server.rebuild });
  }

  /** The server with the effect of the last finished rebuild. */
  #settled(server: Server): Server {
    const last = this.actionsOf(server).find(({ error }) => error === null);
    if (last === undefined || this.clock.now() < last.finishesAt || last.id === server.rebuild) return server;
    return this.#save({ ...server, imageId: last.imageId, rebuild: last.id });
  }

  #changed(server: Server): Server {
    this.#save(server);
    for (const listener of [...this.#listeners]) listener(server.id);
    return server;
  }

  #save(server: Server): Server {
    this.#servers.set(server.id, server);
    this.#journal.keep([`server ${server.id}`, server]);
    return server;
  }
}
