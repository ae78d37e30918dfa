import { readEntries, type Token } from './entries.js';
import { absolute, parseTtl, readRecord, relativeTo } from './record-fields.js';

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

export interface ZoneFileRecord {
  readonly value: string;
  /** The text after `;` on the lines of the record. */
  readonly comment: string | null;
  /** From 1. */
  readonly line: number;
}

export interface ZoneFileRrset {
  /** Relative to the zone, in lower case; `@` for the zone itself. Not checked further. */
  readonly name: string;
  /** In upper case. Types that the API does not write are listed too. */
  readonly type: string;
  /** Seconds; null for the default of the zone. */
  readonly ttl: number | null;
  readonly records: readonly ZoneFileRecord[];
}

export interface ZoneFileProblem {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

export interface ParsedZoneFile {
  /** In the order of the file. */
  readonly rrsets: readonly ZoneFileRrset[];
  /** Lines that are in no record set. */
  readonly problems: readonly ZoneFileProblem[];
  /** What was read differently from what the file says. */
  readonly notes: readonly ZoneFileProblem[];
  /** Problems and notes beyond those listed. */
  readonly unlisted: number;
}

export interface ZoneFileContext {
  /** Without a final dot. */
  readonly zoneName: string;
  /** TTL that records without their own have, in seconds. */
  readonly zoneTtl: number;
}

/** Reads a master file. Takes time linear in its length. */
export function parseZoneFile(text: string, context: ZoneFileContext): ParsedZoneFile {
  const found = collector();
  if (text.length > zoneFileLimits.characters) {
    found.problem(1, `The file is longer than ${zoneFileLimits.characters} characters. Split it.`);
    return found.result();
  }
  const zone = context.zoneName.toLowerCase();
  const state: ReadState = { origin: `${zone}.`, owner: null, fileTtl: null, lastTtl: null };
  let records = 0;
  for (const { line, isIndented, tokens, comment } of readEntries(text, found)) {
    const [first, second] = tokens;
    if (first === undefined) continue;
    const isDirective = !isIndented && !first.isQuoted && first.text.startsWith('$');
    const read = isDirective
      ? follow(state, first.text, second?.text ?? '')
      : readLine(state, { tokens, isIndented, zone, zoneTtl: context.zoneTtl });
    if (typeof read === 'string') found.problem(line, read);
    if (read === null || typeof read === 'string') continue;
    records += 1;
    if (records > zoneFileLimits.records) {
      found.problem(line, `The file has more than ${zoneFileLimits.records} records. Split it.`);
      break;
    }
    const { value, ...rrset } = read;
    found.record({ ...rrset, record: { value, comment, line } });
  }
  return found.result();
}

/** What earlier lines say about later ones. */
interface ReadState {
  /** Absolute. */
  origin: string;
  /** Absolute. */
  owner: string | null;
  fileTtl: number | null;
  lastTtl: number | null;
}

/** Follows a directive. @returns what is wrong with it, or null */
function follow(state: ReadState, directive: string, argument: string): string | null {
  switch (directive.toUpperCase()) {
    case '$ORIGIN':
      if (argument === '') return '$ORIGIN needs a name.';
      state.origin = absolute(argument, state.origin);
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
  const { origin } = state;
  const [first] = tokens;
  if (!isIndented && first !== undefined) state.owner = absolute(first.text, origin);
  const read = readRecord(isIndented ? tokens : tokens.slice(1), origin, zone);
  if (typeof read === 'string') return read;
  if (read.ttl !== null) state.lastTtl = read.ttl;
  const { owner, fileTtl, lastTtl } = state;
  if (owner === null) return 'The line begins with a space, so it continues the name above, but there is none.';
  const name = relativeTo(zone, owner);
  if (name === null) {
    return `${owner} is not in the zone ${zone}. Names without a final dot are below ${origin}`;
  }
  // Without $TTL, RFC 1035 repeats the last TTL. One from $TTL that equals the zone's needs no TTL in the set.
  const inherited = fileTtl === zoneTtl ? null : (fileTtl ?? lastTtl);
  return { ...read, name, ttl: read.ttl ?? inherited };
}

function collector() {
  const rrsets = new Map<
    string,
    ZoneFileRrset & { readonly records: ZoneFileRecord[]; readonly values: Set<string> }
  >();
  const problems: ZoneFileProblem[] = [];
  const notes: ZoneFileProblem[] = [];
  let unlisted = 0;
  const list = (into: ZoneFileProblem[], line: number, message: string): void => {
    if (problems.length + notes.length < zoneFileLimits.problems) into.push({ line, message });
    else unlisted += 1;
  };
  let looseComments = 0;
  let firstLooseComment = 0;
  return {
    problem: (line: number, message: string) => list(problems, line, message),
    looseComment(line: number) {
      if (looseComments === 0) firstLooseComment = line;
      looseComments += 1;
    },
    record({ name, type, ttl, record }: { name: string; type: string; ttl: number | null; record: ZoneFileRecord }) {
      const key = `${name} ${type}`;
      const known = rrsets.get(key);
      if (known === undefined) {
        rrsets.set(key, { name, type, ttl, records: [record], values: new Set([record.value]) });
        return;
      }
      const shown = (seconds: number | null) => (seconds === null ? 'the default' : seconds);
      if (ttl !== known.ttl) {
        const first = known.records[0]?.line;
        const message = `TTL ${shown(known.ttl)} of line ${first} is used instead of ${shown(ttl)}: a record set has one TTL.`;
        list(notes, record.line, message);
      }
      if (known.values.has(record.value)) list(notes, record.line, `${key} has this value already.`);
      else {
        known.values.add(record.value);
        known.records.push(record);
      }
    },
    result(): ParsedZoneFile {
      if (looseComments > 0) {
        const many = `${looseComments} comment lines that stand alone are`;
        list(
          notes,
          firstLooseComment,
          `${looseComments === 1 ? 'A comment line that stands alone is' : many} not kept.`,
        );
      }
      const sets = [...rrsets.values()].map(({ values: _, ...rrset }) => rrset);
      return { rrsets: sets, problems, notes, unlisted };
    },
  };
}
