import { absoluteName, isWritableType } from '../names.js';
import { readEntries, type Token } from './entries.js';
import { parseTtl, readRecord, relativeTo } from './record-fields.js';

/*
 * Master files (RFC 1035 section 5), read into record sets in the form of the DNS API. No package on npm does it: those that
 * exist lose TTL units, relative origins, semicolons in quotes and the line of an error, or drop what they do not know.
 */

export const zoneFileLimits = {
  /** UTF-16 code units. */
  characters: 2_097_152,
  records: 10_000,
  /** Problems that are listed. The rest is only counted. */
  problems: 100,
} as const;

/**
 * Decodes the bytes of a file. Nothing is replaced: a wrong letter in a record would be found by nobody.
 *
 * @param encoding a label of the Encoding Standard, such as `latin1` or `utf-16le`
 * @returns the text, or the first line that is not in this encoding
 * @throws RangeError for a label that is unknown
 */
export function decodeZoneFile(bytes: Uint8Array, encoding = 'utf-8'): string | { readonly line: number } {
  const exact = new TextDecoder(encoding, { fatal: true });
  try {
    return exact.decode(bytes);
  } catch {
    const [readable = ''] = new TextDecoder(encoding).decode(bytes).split('\uFFFD', 1);
    return { line: readable.split(/\r\n|\r|\n/).length };
  }
}

export interface ZoneFileRecord {
  readonly value: string;
  /** The text after `;` on the lines of the record, without the tags of a provider. */
  readonly comment: string | null;
  /** Number of the line, from 1. */
  readonly line: number;
}

export interface ZoneFileRrset {
  /** Relative to the zone, in lower case; `@` for the zone itself. Not checked further. */
  readonly name: string;
  /** The type in upper case. Types that the API does not write are listed too. */
  readonly type: string;
  /** Seconds; null for the default of the zone. */
  readonly ttl: number | null;
  readonly records: readonly ZoneFileRecord[];
}

export interface ZoneFileProblem {
  /** Number of the line, from 1. */
  readonly line: number;
  readonly message: string;
}

export interface ParsedZoneFile {
  /** Record sets in the order of the file. */
  readonly rrsets: readonly ZoneFileRrset[];
  /** Lines that are in no record set. */
  readonly problems: readonly ZoneFileProblem[];
  /** What was read differently from what the file says. */
  readonly notes: readonly ZoneFileProblem[];
  /** Problems and notes beyond those listed. */
  readonly unlisted: number;
  /** Names of lines that are in no record set, as far as they are in the zone; null if such a line may have any name. */
  readonly unreadNames: ReadonlySet<string> | null;
  /** Whether all names are relative to the origin of the context: none is absolute, nor is an `$ORIGIN`. */
  readonly isRelative: boolean;
}

export interface ZoneFileContext {
  /** The name without a final dot. */
  readonly zoneName: string;
  /** TTL that records without their own have, in seconds. */
  readonly zoneTtl: number;
}

export interface ZoneFileOrigin {
  /** What names without a final dot are below, until the file says `$ORIGIN`. With a final dot; the zone by default. */
  readonly origin?: string;
}

/** Reads a master file. Takes time linear in its length. */
export function parseZoneFile(text: string, context: ZoneFileContext & ZoneFileOrigin): ParsedZoneFile {
  const found = collector(context.zoneTtl);
  if (text.length > zoneFileLimits.characters) {
    found.problem(1, `The file is longer than ${zoneFileLimits.characters} characters. Split it.`, null);
    return found.result(false);
  }
  const zone = context.zoneName.toLowerCase();
  const state: ReadState = {
    origin: context.origin?.toLowerCase() ?? `${zone}.`,
    owner: null,
    fileTtl: null,
    lastTtl: null,
    names: 0,
    hasAbsolute: false,
  };
  let records = 0;
  for (const { line, isIndented, tokens, comment, problem } of readEntries(text)) {
    const [first, second] = tokens;
    if (first === undefined && problem === null) {
      if (comment !== null) found.looseComment(line);
      continue;
    }
    const isDirective = !isIndented && first?.isQuoted === false && first.text.startsWith('$');
    if (!isDirective && !isIndented) setOwner(state, first);
    const nameHere = problem?.isOpen || isDirective ? null : state.owner;
    if (problem !== null) {
      found.problem(problem.line, problem.message, nameInZone(nameHere, zone));
      continue;
    }
    const read = isDirective
      ? follow(state, first.text, second?.text ?? '')
      : readLine(state, { tokens, isIndented, zone, zoneTtl: context.zoneTtl });
    if (typeof read === 'string') found.problem(line, read, nameInZone(nameHere, zone));
    if (read === null || typeof read === 'string') continue;
    records += 1;
    if (records > zoneFileLimits.records) {
      found.problem(line, `The file has more than ${zoneFileLimits.records} records. Split it.`, null);
      break;
    }
    const { value, note, ...rrset } = read;
    if (note !== null && isWritableType(rrset.type)) found.note(line, note);
    found.record({ ...rrset, record: { value, comment: withoutTags(comment), line } });
  }
  return found.result(state.names > 0 && !state.hasAbsolute);
}

/** What earlier lines say about later ones. */
interface ReadState {
  /** Absolute. */
  origin: string;
  /** Absolute; null before the first name, and after one that cannot be read. */
  owner: string | null;
  fileTtl: number | null;
  lastTtl: number | null;
  names: number;
  /** Whether a name or an origin is absolute. */
  hasAbsolute: boolean;
}

function setOwner(state: ReadState, name: Token | undefined): void {
  state.owner = name === undefined ? null : absoluteName(name.text, state.origin);
  state.names += 1;
  state.hasAbsolute ||= name?.text.endsWith('.') ?? false;
}

/** @returns null when any name of the zone may be meant; undefined when none is */
const nameInZone = (owner: string | null, zone: string): string | null | undefined =>
  owner === null ? null : (relativeTo(zone, owner) ?? undefined);

/** Cloudflare appends what only it understands: `; my comment cf_tags=cf-proxied:true`. */
const withoutTags = (comment: string | null): string | null =>
  comment?.replace(/(?:^|\s)cf_tags=.*$/, '').trim() || null;

/** Follows a directive. @returns what is wrong with it, or null */
function follow(state: ReadState, directive: string, argument: string): string | null {
  switch (directive.toUpperCase()) {
    case '$ORIGIN':
      if (argument === '') return '$ORIGIN needs a name.';
      state.origin = absoluteName(argument, state.origin);
      state.hasAbsolute ||= argument.endsWith('.');
      return null;
    case '$TTL':
      state.fileTtl = parseTtl(argument);
      return state.fileTtl === null ? '$TTL needs a time such as 3600 or 1h.' : null;
    default:
      return `${directive} is not supported. Write the records themselves.`;
  }
}

interface RecordLine {
  readonly tokens: readonly Token[];
  readonly isIndented: boolean;
  readonly zone: string;
  readonly zoneTtl: number;
}

/** @returns what is wrong, or the record with its name and the TTL that applies */
function readLine(state: ReadState, { tokens, isIndented, zone, zoneTtl }: RecordLine) {
  const { origin, owner } = state;
  const read = readRecord(isIndented ? tokens : tokens.slice(1), origin, zone);
  if (typeof read === 'string') return read;
  if (read.ttl !== null) state.lastTtl = read.ttl;
  const { fileTtl, lastTtl } = state;
  if (owner === null) {
    return 'The line begins with a space, so it continues the name above, but there is none.';
  }
  const name = relativeTo(zone, owner);
  if (name === null) {
    return `${owner} is not in the zone ${zone}. Names without a final dot are below ${origin}`;
  }
  // Without $TTL, RFC 1035 repeats the last TTL. One from $TTL that equals the zone's needs no TTL in the set.
  const inherited = fileTtl === zoneTtl ? null : (fileTtl ?? lastTtl);
  return { ...read, name, ttl: read.ttl ?? inherited };
}

/** Cloudflare exports this for `automatic`. No provider means it. */
const AUTOMATIC_TTL = 1;

interface FoundRecord {
  readonly name: string;
  readonly type: string;
  readonly ttl: number | null;
  readonly record: ZoneFileRecord;
}

function collector(zoneTtl: number) {
  const rrsets = new Map<
    string,
    ZoneFileRrset & { readonly records: ZoneFileRecord[]; readonly values: Set<string> }
  >();
  const problems: ZoneFileProblem[] = [];
  const notes: ZoneFileProblem[] = [];
  let unreadNames: Set<string> | null = new Set<string>();
  let unlisted = 0;
  const list = (into: ZoneFileProblem[], line: number, message: string): void => {
    if (problems.length + notes.length < zoneFileLimits.problems) into.push({ line, message });
    else unlisted += 1;
  };
  const note = (line: number, message: string): void => list(notes, line, message);
  const looseComments: number[] = [];
  const automaticTtls: number[] = [];
  return {
    note,
    /** @param name on the line; null when it may be any name, undefined when it is none of the zone */
    problem(line: number, message: string, name: string | null | undefined) {
      list(problems, line, message);
      if (name === null) unreadNames = null;
      else if (name !== undefined) unreadNames?.add(name);
    },
    looseComment: (line: number) => void looseComments.push(line),
    record({ name, type, ttl: read, record }: FoundRecord) {
      const ttl = read === AUTOMATIC_TTL ? null : read;
      // What is not written has nothing to be noted.
      const noted = isWritableType(type) ? note : () => undefined;
      if (read === AUTOMATIC_TTL && isWritableType(type)) automaticTtls.push(record.line);
      const key = `${name} ${type}`;
      const known = rrsets.get(key);
      if (known === undefined) {
        rrsets.set(key, { name, type, ttl, records: [record], values: new Set([record.value]) });
        return;
      }
      const shown = (seconds: number | null) => (seconds === null ? 'the default' : seconds);
      if ((ttl ?? zoneTtl) !== (known.ttl ?? zoneTtl)) {
        const first = known.records[0]?.line;
        const message = `TTL ${shown(known.ttl)} of line ${first} is used instead of ${shown(ttl)}: a record set has one TTL.`;
        noted(record.line, message);
      }
      if (known.values.has(record.value)) noted(record.line, `${key} has this value already.`);
      else {
        known.values.add(record.value);
        known.records.push(record);
      }
    },
    result(isRelative: boolean): ParsedZoneFile {
      const [firstAutomatic] = automaticTtls;
      if (firstAutomatic !== undefined) {
        const many = automaticTtls.length === 1 ? 'A record gets' : `${automaticTtls.length} records get`;
        note(firstAutomatic, `TTL 1 means automatic: ${many} the default of the zone.`);
      }
      const [firstLoose] = looseComments;
      if (firstLoose !== undefined) {
        const many = `${looseComments.length} comment lines that stand alone are`;
        const what = looseComments.length === 1 ? 'A comment line that stands alone is' : many;
        note(firstLoose, `${what} not kept.`);
      }
      const sets = [...rrsets.values()].map(({ values: _, ...rrset }) => rrset);
      notes.sort((one, other) => one.line - other.line);
      return { rrsets: sets, problems, notes, unlisted, unreadNames, isRelative };
    },
  };
}
