import { type Clock, timestamp } from '../clock.js';
import { ApiError, invalidInput, notFound } from '../dns/api-error.js';
import type { ActionError, Labels } from '../dns/model.js';
import { openLineFile } from '../line-file.js';
import { findImage } from './images.js';
import type { RunState, Server, ServerAction, ServerOptions } from './model.js';

type Entry = { kind: 'server'; server: Server } | { kind: 'action'; action: ServerAction };

const FILE = 'servers.jsonl';
const FIRST_SERVER = 4_711;
/** Far from the actions of the DNS API: both are asked for under one path. */
const FIRST_ACTION = 5_000_001;

const neverRebuilt = { rebuild: null, firstBoot: null };

export interface ServersOptions {
  readonly clock: Clock;
  readonly actionMs: number;
  readonly dataDir: string | undefined;
}

/** The servers of all projects, and what was done with them. */
export class Servers {
  readonly #servers = new Map<number, Server>();
  readonly #actions = new Map<number, ServerAction>();
  readonly #listeners = new Set<(id: number) => void>();
  readonly #file;
  readonly #clock: Clock;
  readonly #actionMs: number;

  constructor({ clock, actionMs, dataDir }: ServersOptions) {
    this.#clock = clock;
    this.#actionMs = actionMs;
    this.#file = dataDir === undefined ? null : openLineFile(dataDir, FILE);
    for (const line of this.#file?.lines() ?? []) this.#take(JSON.parse(line) as Entry);
    this.#file?.replace(this.#entries());
  }

  close(): void {
    this.#file?.close();
  }

  /** Told after something was done with a server. @returns a function that ends it */
  onChange(listener: (id: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  add(project: string, options: ServerOptions): Server {
    const { architecture = 'x86', image = 'ubuntu-22.04' } = options;
    const id = options.id ?? Math.max(FIRST_SERVER - 1, ...this.#servers.keys()) + 1;
    if (this.#servers.has(id)) throw new Error(`There is a server ${id} already. Take another number.`);
    return this.#told({
      ...{ id, project, architecture },
      name: options.name ?? `server-${id}`,
      created: timestamp(this.#clock.now()),
      serverType: options.serverType ?? (architecture === 'arm' ? 'cax11' : 'cx22'),
      location: options.location ?? 'hel1',
      labels: options.labels ?? {},
      imageId: image === null ? null : (findImage(image, architecture)?.id ?? null),
      protection: options.protection ?? { delete: false, rebuild: false },
      ...{ locked: options.locked ?? false, rescueEnabled: options.rescueEnabled ?? false, iso: options.iso ?? false },
      ...{ diskGb: options.diskGb ?? 40, status: options.status ?? null, power: 'running' },
      ...{ hasSshKeys: options.hasSshKeys ?? true, userData: null, rebuilds: 0, powerOffs: 0, deletedBy: null },
      ...{ ...neverRebuilt, joins: options.joins ?? true, joinMs: options.joinMs ?? null },
    });
  }

  /** Changes a server past every rule, as if somebody had done so by hand. */
  change(id: number, { image, ...change }: ServerOptions & { project?: string }): Server {
    const server = this.#servers.get(id);
    if (server === undefined) throw new Error(`There is no server ${id}.`);
    const imageId = image === undefined || image === null ? undefined : findImage(image, server.architecture)?.id;
    return this.#told({ ...this.#settled(server), ...change, id, ...(imageId === undefined ? {} : { imageId }) });
  }

  vanish(id: number): void {
    const server = this.#servers.get(id);
    if (server === undefined) throw new Error(`There is no server ${id}.`);
    this.#told({ ...server, deletedBy: 'admin' });
  }

  /** All that were ever made, by number. */
  list(): Server[] {
    return [...this.#servers.values()].map((server) => this.#settled(server)).sort((a, b) => a.id - b.id);
  }

  inProject(project: string): Server[] {
    return this.list().filter((server) => server.project === project && server.deletedBy === null);
  }

  /** @throws ApiError `not_found`, also for one of another project */
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

  isRunning = ({ finishesAt }: Pick<ServerAction, 'finishesAt'>): boolean => this.#clock.now() < finishesAt;

  isLocked(server: Server): boolean {
    return server.locked || this.actionsOf(server).some(this.isRunning);
  }

  /** @returns null when there never was such a server */
  runState(id: number): RunState | null {
    const held = this.#servers.get(id);
    if (held === undefined) return null;
    const rebuilds = this.actionsOf(held).filter(({ imageId }) => imageId !== null);
    // The clock is asked once, and before the server is settled: what ends in between counts as under way.
    const underWay = rebuilds.find(this.isRunning);
    const server = this.#settled(held);
    const isRunning = server.deletedBy === null && server.power === 'running' && underWay === undefined;
    const last = underWay ?? rebuilds.find((action) => action.id === server.rebuild);
    return { server, rebuild: isRunning ? server.rebuild : null, rebuiltAt: last?.finishesAt ?? null };
  }

  /** The user data of this rebuild has been heeded: that happens once. */
  noteFirstBoot(server: Server, rebuild: number): void {
    this.#save({ ...server, firstBoot: rebuild });
  }

  update(server: Server, change: { name?: string; labels?: Labels }): Server {
    return this.#save({ ...server, ...change });
  }

  /**
   * Wipes the server, at once and each time.
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
    if (image.architecture !== server.architecture) {
      throw invalidInput('image', `image architecture ${image.architecture} does not fit ${server.architecture}`);
    }
    if (image.diskGb > server.diskGb) throw invalidInput('image', 'image is larger than the disk');
    // Left out, the user data of the last time is used again.
    this.#save({ ...server, rebuilds: server.rebuilds + 1, userData: order.userData ?? server.userData });
    return this.#begin(server, 'rebuild_server', { error: order.error, imageId: image.id });
  }

  /** @throws ApiError `locked` */
  power(server: Server, power: Server['power'], command: string): ServerAction {
    this.#refuseLocked(server);
    this.#save({ ...server, power, powerOffs: server.powerOffs + (power === 'off' ? 1 : 0) });
    return this.#begin(server, command);
  }

  protect(server: Server, protection: Server['protection']): ServerAction {
    this.#save({ ...server, protection });
    return this.#begin(server, 'change_protection');
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
    const startedAt = this.#clock.now();
    const id = Math.max(FIRST_ACTION - 1, ...this.#actions.keys()) + 1;
    const action = { id, serverId, command, startedAt, finishesAt: startedAt + this.#actionMs, error, imageId };
    this.#actions.set(id, action);
    this.#file?.append(JSON.stringify({ kind: 'action', action } satisfies Entry));
    this.#tell(serverId);
    return action;
  }

  /** With the effect of the last rebuild that has ended. */
  #settled(server: Server): Server {
    const last = this.actionsOf(server).find(({ imageId, error }) => imageId !== null && error === null);
    if (last === undefined || this.isRunning(last) || last.id === server.rebuild) return server;
    return this.#save({ ...server, imageId: last.imageId, power: 'running', rebuild: last.id });
  }

  #told(server: Server): Server {
    this.#save(server);
    this.#tell(server.id);
    return server;
  }

  #tell(id: number): void {
    for (const listener of [...this.#listeners]) listener(id);
  }

  #save(server: Server): Server {
    this.#servers.set(server.id, server);
    this.#file?.append(JSON.stringify({ kind: 'server', server } satisfies Entry));
    return server;
  }

  #take(entry: Entry): void {
    // A journal of an earlier version has servers without what came since.
    const added = { ...neverRebuilt, joins: true, joinMs: null };
    if (entry.kind === 'server') this.#servers.set(entry.server.id, { ...added, ...entry.server });
    else this.#actions.set(entry.action.id, entry.action);
  }

  *#entries(): Iterable<string> {
    for (const server of this.#servers.values()) yield JSON.stringify({ kind: 'server', server } satisfies Entry);
    for (const action of this.#actions.values()) yield JSON.stringify({ kind: 'action', action } satisfies Entry);
  }
}
