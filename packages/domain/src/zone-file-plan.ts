import {
  isAtOrBelow,
  isWritableType,
  type ParsedZoneFile,
  parseRrsetName,
  parseZoneFile,
  type Rrset,
  relativeName,
  type ZoneFileRrset,
} from '@corral/contracts';
import { type ChangePlan, keyOf, type PlanContext, planChanges, type WantedSet, writableSets } from './plan.js';

export interface ReadZoneFile {
  readonly parsed: ParsedZoneFile;
  /** Relative to the zone; `@` for the zone itself. */
  readonly origin: string;
}

export interface ZoneFileContext {
  /** Default TTL of the zone in seconds. */
  readonly zoneTtl: number;
  readonly context: PlanContext;
  /** What names without a final dot are below, relative to the zone; `@` for the zone. Without it, the file decides. */
  readonly origin?: string | undefined;
}

/**
 * An origin as people write it: relative, or with the name of the zone, with or without a final dot.
 *
 * @returns it relative to the zone, `@` for the zone itself; null if it is no name in the zone
 */
export function originIn(text: string, zoneName: string): string | null {
  const name = relativeName(text, zoneName);
  if (name === '@' || name === zoneName) return '@';
  // With a final dot it is a full name, and one of another zone where nothing was cut off.
  const isElsewhere = text.trim().endsWith('.') && name.length === text.trim().length - 1;
  return isElsewhere || parseRrsetName(name, zoneName) === null ? null : name;
}

/**
 * Reads a zone file. If all its names are relative and none is the team's as a name of the zone, they are names below that
 * of the team: such a file was written for a zone of its own.
 */
export function readZoneFile(text: string, { zoneTtl, context, origin }: ZoneFileContext): ReadZoneFile {
  const { zoneName, ownerLabel } = context;
  const readBelow = (name: string): ReadZoneFile => ({
    parsed: parseZoneFile(text, { zoneName, zoneTtl, origin: `${fullName(name, zoneName)}.` }),
    origin: name,
  });
  const read = readBelow(origin ?? '@');
  if (origin !== undefined || !read.parsed.isRelative) return read;
  const names = [...read.parsed.rrsets.map(({ name }) => name), ...(read.parsed.unreadNames ?? [])];
  // A full name that lacks its final dot is a mistake, which must not become a name below that of the team.
  const areOfZone = names.some((name) => isAtOrBelow(name, ownerLabel) || isAtOrBelow(name, zoneName));
  return areOfZone ? read : readBelow(ownerLabel);
}

export interface ZoneFilePlan {
  readonly plan: ChangePlan;
  /** Sentences about the file as a whole. */
  readonly notes: readonly string[];
  /** Sets that the file lacks and a plan can remove, whether this one does or not. */
  readonly removable: number;
  /** How many sets the plan removes. */
  readonly removed: number;
  /** Whether these are more than half of all sets: then somebody has to confirm their number. */
  readonly removesMost: boolean;
  /** Number of sets that the team has, of types that can be written. */
  readonly existing: number;
  /** Whether no record set of the file is, or becomes, as it says. */
  readonly isVoid: boolean;
}

/**
 * Plans what a zone file asks for. It says nothing about labels, so those of existing sets stay.
 *
 * @param isPruning also plans the removal of sets that the file lacks. A set stays if its name is on a line that cannot be
 *   read or is refused, and all stay if nothing of a file with such lines can be written
 */
export function planZoneFile(
  { parsed, origin }: ReadZoneFile,
  actual: readonly Rrset[],
  context: PlanContext,
  isPruning: boolean,
): ZoneFilePlan {
  const { zoneName } = context;
  const written = parsed.rrsets.filter(({ type }) => isWritableType(type));
  const wanted = written.map(wantedOf);
  const own = writableSets(actual, context);
  const named = new Set(written.map(keyOf));
  const missing = own.filter((rrset) => !named.has(keyOf(rrset)));
  const { unreadNames } = parsed;
  const lost = unreadNames === null ? [] : missing.filter(({ name }) => !unreadNames.has(name));
  const removals = lost.map(({ name, type }): WantedSet => ({ name, type, content: null }));

  const bare = planChanges(actual, wanted, context);
  const pruning = planChanges(actual, [...wanted, ...removals], context);
  const isUnreliable = isVoidPlan(pruning) && pruning.refused.length + parsed.problems.length > 0;
  const plan = isPruning && !isUnreliable ? pruning : bare;
  const removable = isUnreliable ? 0 : removalsOf(pruning);
  return {
    plan,
    notes: [
      ...originNotes(parsed, fullName(origin, zoneName)),
      ...leftOutNotes(parsed.rrsets, zoneName),
      ...(isPruning ? keptNotes(missing.length, isUnreliable ? 0 : lost.length) : []),
    ],
    removable,
    removed: isPruning ? removable : 0,
    removesMost: isPruning && removable * 2 > own.length,
    existing: own.length,
    isVoid: isVoidPlan(plan),
  };
}

const isVoidPlan = ({ same, waves }: ChangePlan): boolean => same === 0 && waves.flat().every(({ to }) => to === null);

const fullName = (name: string, zoneName: string): string => (name === '@' ? zoneName : `${name}.${zoneName}`);

const wantedOf = ({ name, type, ttl, records }: ZoneFileRrset): WantedSet => ({
  name,
  type,
  content: { ttl, records: records.map(({ value, comment }) => ({ value, comment })) },
  source: `line ${records[0]?.line}`,
});

const removalsOf = ({ waves }: ChangePlan): number => waves.flat().filter(({ to }) => to === null).length;

const originNotes = ({ isRelative }: ParsedZoneFile, origin: string): string[] =>
  isRelative ? [`Names without a final dot are read as names below ${origin}.`] : [];

/** Every export has records that only the owner of a zone writes. */
function leftOutNotes(rrsets: readonly ZoneFileRrset[], zoneName: string): string[] {
  const tops = new Set(['@', ...rrsets.filter(({ type }) => type === 'SOA').map(({ name }) => name)]);
  const isOfTop = ({ name, type }: ZoneFileRrset) => type === 'SOA' || (type === 'NS' && tops.has(name));
  const counts = new Map<string, number>();
  for (const rrset of rrsets) {
    if (isWritableType(rrset.type) || isOfTop(rrset)) continue;
    counts.set(rrset.type, (counts.get(rrset.type) ?? 0) + rrset.records.length);
  }
  const ofTops = new Set(rrsets.filter(isOfTop).map(({ name }) => fullName(name, zoneName)));
  const counted = [...counts].map(([type, count]) => `${count} ${type}`).join(', ');
  return [
    ...[...ofTops].map((top) => `SOA and NS of ${top} are left out: the zone has its own.`),
    ...(counted === '' ? [] : [`Left out, because the API does not write these types: ${counted}.`]),
  ];
}

function keptNotes(missing: number, lost: number): string[] {
  if (missing === lost) return [];
  if (lost === 0) return ['Nothing is removed: the lines that cannot be read or written may be about what is missing.'];
  return missing - lost === 1
    ? ['1 missing set stays, because its name is on a line that cannot be read.']
    : [`${missing - lost} missing sets stay, because their names are on lines that cannot be read.`];
}
