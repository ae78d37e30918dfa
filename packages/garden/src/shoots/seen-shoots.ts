import pLimit from 'p-limit';
import type { CallDeps } from '../calls/call.js';
import type { ShootPage } from '../client.js';
import { listEach, type PageRequest } from './list-shoots.js';
import { keyOf, listVersions, type PageMemory, pageBytes, type ShootVersion } from './list-versions.js';
import type { Shoot } from './shoot.js';
import { readShoot } from './shoot-calls.js';

/** Shoots of one page that are read one by one. More of them are read as one page. */
const singlesMax = 20;
const atOnce = 4;

/** The lists of all Shoots, and what is known of each Shoot from them and from events. */
export interface SeenShoots<S> {
  startList(): void;
  /** The first list reads all Shoots, later ones only those whose version is not known. */
  readPage(request: PageRequest, signal: AbortSignal): Promise<ShootPage<S>>;
  /** After the last page: a Shoot on none of them is forgotten. */
  endList(): void;
  /** What an event has shown. */
  note(shoot: Shoot, summary: S): void;
}

interface Seen<S> {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly summary: S;
  /** the number of the list that showed it last, or after which an event came */
  list: number;
}

export function seenShoots<S>(deps: CallDeps, summarize: (shoot: Shoot) => S): SeenShoots<S> {
  const seen = new Map<string, Seen<S>>();
  let list = 0;
  let isRepeated = false;
  const bytes = pageBytes();
  let pages: PageMemory = { last: new Map(), read: new Map(), bytes };

  const note = ({ metadata }: Shoot, summary: S): void => {
    const { uid, resourceVersion } = metadata;
    seen.set(keyOf(metadata), { uid, resourceVersion, summary, list });
  };
  const noteNew = (shoot: Shoot): S => {
    const summary = summarize(shoot);
    note(shoot, summary);
    return summary;
  };
  const find = (version: ShootVersion): Seen<S> | null => {
    const found = seen.get(version.key);
    const isSame = found?.uid === version.uid && found.resourceVersion === version.resourceVersion;
    return isSame ? found : null;
  };
  /** Reads Shoots that have changed. Those that are gone since are left out. */
  const readEach = async (versions: readonly ShootVersion[], signal: AbortSignal): Promise<S[]> => {
    const shoots = await pLimit(atOnce).map(versions, (version) => readShoot(deps, version, signal));
    return shoots.flatMap((shoot) => (shoot === null ? [] : [noteNew(shoot)]));
  };
  const readUnknown = async (
    versions: readonly ShootVersion[],
    request: PageRequest,
    signal: AbortSignal,
  ): Promise<S[]> => {
    if (versions.length <= singlesMax) return readEach(versions, signal);
    const wanted = new Set(versions.map(({ key }) => key));
    const take = (shoot: Shoot): S[] => (wanted.delete(keyOf(shoot.metadata)) ? [noteNew(shoot)] : []);
    const { shoots } = await listEach(take, deps, request, signal);
    // A first page may be newer than that of the versions, and show others.
    const missed = await readEach(
      versions.filter(({ key }) => wanted.has(key)),
      signal,
    );
    return [...shoots.flat(), ...missed];
  };

  return {
    note,
    startList() {
      list += 1;
      pages = { last: pages.last, read: new Map(), bytes };
    },
    async readPage(request, signal) {
      if (!isRepeated) return listEach(noteNew, deps, request, signal);
      const page = await listVersions(deps, request, pages, signal);
      const unknown: ShootVersion[] = [];
      const shoots: S[] = [];
      for (const version of page.shoots) {
        const known = find(version);
        if (known === null) unknown.push(version);
        else {
          known.list = list;
          shoots.push(known.summary);
        }
      }
      if (unknown.length > 0) shoots.push(...(await readUnknown(unknown, request, signal)));
      return { ...page, shoots };
    },
    endList() {
      isRepeated = true;
      pages = { last: pages.read, read: new Map(), bytes };
      for (const [key, { list: last }] of seen) if (last !== list) seen.delete(key);
    },
  };
}
