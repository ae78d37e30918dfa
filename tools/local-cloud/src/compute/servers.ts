import type { Clock } from '../clock.js';
import { type Action, type ActionError, ApiError, notFound } from '../hcloud/answers.js';
import { openJournal } from '../journal.js';
import type { Labels } from '../labels.js';

/** The provider's names. */
type Architecture = 'x86' | 'arm';

/** The provider's images: one per architecture under each name. */
export const images = [
  { id: 161_547_269, name: 'ubuntu-24.04', architecture: 'x86' },
  { id: 161_547_270, name: 'ubuntu-24.04', architecture: 'arm' },
  { id: 67_794_396, name: 'ubuntu-22.04', architecture: 'x86' },
  { id: 103_908_130, name: 'ubuntu-22.04', architecture: 'arm' },
] as const;

/** A rebuild: the provider's only action on a server here. */
interface Rebuild extends Action {
  readonly imageId: number;
}

/** A stored server. Immutable. */
interface StoredServer {
  readonly id: number;
  /** Project of the server. */
  readonly project: string;
  readonly name: string;
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
  /** Newest first. */
  readonly actions: readonly Rebuild[];
  /** Requests that Corral must never send, such as `poweroff`. All were refused. */
  readonly harms: readonly string[];
  /** The rebuild whose user data was processed. */
  readonly firstBoot: number | null;
}

/** A server, as its rebuilds have left it. */
export interface Server extends StoredServer {
  readonly isRebuilding: boolean;
  readonly rebuilds: number;
  /** Id of the last rebuild that has ended well; null if never rebuilt. */
  readonly rebuild: number | null;
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
  actions: [],
  harms: [],
  firstBoot: null,
} as const;

/** The servers of all projects. */
export class Servers {
  readonly #servers = new Map<number, StoredServer>();
  readonly #journal;
  /** Is called after each change of a server. */
  onChange: (id: number) => void = () => undefined;

  constructor(
    private readonly clock: Clock,
    private readonly actionMs: number,
    dataDir: string | undefined,
  ) {
    this.#journal = openJournal(dataDir, 'servers.jsonl');
    for (const [id, value] of this.#journal.kept) this.#servers.set(Number(id), value as StoredServer);
  }

  close(): void {
    this.#journal.close();
  }

  add(project: string, options: ServerOptions): Server {
    const { architecture = 'x86' } = options;
    const id = options.id ?? Math.max(FIRST_SERVER - 1, ...this.#servers.keys()) + 1;
    if (this.#servers.has(id)) throw new Error(`There is a server ${id} already. Take another number.`);
    return this.#save({
      ...newServer,
      id,
      project,
      name: `server-${id}`,
      serverType: architecture === 'arm' ? 'cax11' : 'cx22',
      architecture,
      imageId: images.findLast((image) => image.architecture === architecture)?.id ?? null,
      ...options,
    });
  }

  /** Changes a server without checking any rule. */
  change(id: number, change: Partial<StoredServer>): Server {
    const server = this.#servers.get(id);
    if (server === undefined) throw new Error(`There is no server ${id}.`);
    return this.#save({ ...server, ...change });
  }

  /** All servers ever created, by id. */
  list(): Server[] {
    return [...this.#servers.values()].map((server) => this.#settled(server)).sort((a, b) => a.id - b.id);
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

  /**
   * Rebuilds the server. Every call wipes it again.
   *
   * @param order without user data, that of the last time is used again
   * @throws ApiError `protected`, `locked`, `not_found`
   */
  rebuild(server: Server, order: { image: number; userData?: string | undefined; error: ActionError | null }): Rebuild {
    if (server.protection.rebuild) throw new ApiError(423, 'protected', 'server is rebuild protected');
    if (server.locked || server.isRebuilding) throw new ApiError(423, 'locked', 'server is locked');
    const image = images.find(({ id, architecture }) => id === order.image && architecture === server.architecture);
    if (image === undefined) throw notFound(`image '${order.image}'`);
    const startedAt = this.clock.now();
    const known = [...this.#servers.values()].flatMap(({ actions }) => actions.map(({ id }) => id));
    const action = {
      id: Math.max(FIRST_ACTION - 1, ...known) + 1,
      command: 'rebuild_server',
      startedAt,
      finishesAt: startedAt + this.actionMs,
      error: order.error,
      imageId: image.id,
    };
    const userData = order.userData ?? server.userData;
    this.change(server.id, { actions: [action, ...server.actions], userData });
    return action;
  }

  #settled(server: StoredServer): Server {
    const { actions } = server;
    const now = this.clock.now();
    const done = actions.find(({ error, finishesAt }) => error === null && finishesAt <= now);
    return {
      ...server,
      imageId: done?.imageId ?? server.imageId,
      isRebuilding: actions[0] !== undefined && now < actions[0].finishesAt,
      rebuilds: actions.length,
      rebuild: done?.id ?? null,
    };
  }

  #save(server: StoredServer): Server {
    this.#servers.set(server.id, server);
    this.#journal.keep([String(server.id), server]);
    this.onChange(server.id);
    return this.#settled(server);
  }
}
