import pLimit from 'p-limit';
import type { CallDeps } from '../calls/call.js';
import type { ShootPage } from '../client.js';
import { listEach, type PageRequest } from './list-shoots.js';
import { keyOf, listVersions, type PageMemory, type ShootVersion } from './list-versions.js';
import { pageBytes } from './page-bytes.js';
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
}

type Versions = readonly ShootVersion[];

export function seenShoots<S>(deps: CallDeps, summarize: (shoot: Shoot) => S): SeenShoots<S> {
  const seen = new Map<string, Seen<S>>();
  let isRepeated = false;
  const bytes = pageBytes();
  let pages: PageMemory = { last: new Map(), read: new Map(), bytes };
  /** The pages of this list. */
  let listed: Versions[] = [];

  const note = ({ metadata }: Shoot, summary: S): void => {
    const { uid, resourceVersion } = metadata;
    seen.set(keyOf(metadata), { uid, resourceVersion, summary });
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
  const readEach = async (versions: Versions, signal: AbortSignal): Promise<S[]> => {
    const shoots = await pLimit(atOnce).map(versions, (version) => readShoot(deps, version, signal));
    return shoots.flatMap((shoot) => (shoot === null ? [] : [noteNew(shoot)]));
  };
  const readUnknown = async (versions: Versions, request: PageRequest, signal: AbortSignal): Promise<S[]> => {
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
  const summarizeAll = async (versions: Versions, request: PageRequest, signal: AbortSignal): Promise<S[]> => {
    const unknown: ShootVersion[] = [];
    const shoots: S[] = [];
    for (const version of versions) {
      const known = find(version);
      if (known === null) unknown.push(version);
      else shoots.push(known.summary);
    }
    return unknown.length === 0 ? shoots : [...shoots, ...(await readUnknown(unknown, request, signal))];
  };
  const forgetOthers = (): void => {
    // Each Shoot is on one page: if there are as many as are known, they are the same.
    if (seen.size <= listed.reduce((sum, { length }) => sum + length, 0)) return;
    const shown = new Set(listed.flat().map(({ key }) => key));
    for (const key of seen.keys()) if (!shown.has(key)) seen.delete(key);
  };

  return {
    note,
    startList() {
      listed = [];
      pages = { last: pages.last, read: new Map(), bytes };
      if (!isRepeated) seen.clear();
    },
    async readPage(request, signal) {
      if (!isRepeated) return listEach(noteNew, deps, request, signal);
      const page = await listVersions(deps, request, pages, signal);
      listed.push(page.shoots);
      return { ...page, shoots: await summarizeAll(page.shoots, request, signal) };
    },
    endList() {
      if (isRepeated) forgetOthers();
      isRepeated = true;
      pages = { last: pages.read, read: new Map(), bytes };
    },
  };
}
