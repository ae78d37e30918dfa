import { isWritableType, writableTypes } from './limits.js';
import { isAtOrBelow, parseRrsetName } from './names.js';

/** The record sets that a DNS token covers: those of its owner, unless it is narrowed. */
export interface TokenCoverage {
  /** The team's slug or the demo's label: the last label of its names. */
  readonly ownerLabel: string;
  /** Narrows reads and writes to this name and below; null for all names of the owner. */
  readonly withinName: string | null;
  /** Narrows writes to these types; empty for every type the API writes. */
  readonly withinTypes: readonly string[];
}

/** The name at and below which the token can read and write. */
export function coveredRoot({ withinName, ownerLabel }: TokenCoverage): string {
  return withinName ?? ownerLabel;
}

/** Whether the token covers a name. Names that it does not cover look absent. */
export function coversName(coverage: TokenCoverage, name: string): boolean {
  return isAtOrBelow(name, coveredRoot(coverage)) && isAtOrBelow(name, coverage.ownerLabel);
}

/** Whether the token may write a record type. Which types the API writes at all is checked elsewhere. */
export function coversType({ withinTypes }: TokenCoverage, type: string): boolean {
  return withinTypes.length === 0 || withinTypes.includes(type);
}

/** Whether a token of the team can be narrowed to the name. */
export function canNarrowTo(name: string, teamSlug: string): boolean {
  return isAtOrBelow(name, teamSlug) && parseRrsetName(name, '') !== null;
}

/** A record set, by its name relative to the zone. */
export interface NamedRrset {
  readonly zoneName: string;
  readonly name: string;
  readonly type: string;
}

/**
 * Whether the token can read the record set, if it exists: any type, since reads include every type that the zone has at
 * the covered names.
 */
export function canRead(coverage: TokenCoverage, { zoneName, name, type }: NamedRrset): boolean {
  return parseRrsetName(name, zoneName) !== null && coversName(coverage, name) && /^[A-Z0-9]{1,16}$/.test(type);
}

/**
 * Why the token may not write the record set; null if it may. Independent of whether the set exists.
 */
export function writeRefusal(coverage: TokenCoverage, { zoneName, name, type }: NamedRrset): string | null {
  const { ownerLabel, withinTypes } = coverage;
  if (parseRrsetName(name, zoneName) === null) {
    return `The name is not valid. Use ${ownerLabel} or a name below it, relative to the zone and without a trailing dot. Labels have lower-case letters, digits, hyphens and underscores.`;
  }
  if (!isAtOrBelow(name, ownerLabel)) {
    return `The name does not belong to you. You can write ${ownerLabel} and names below it.`;
  }
  if (!coversName(coverage, name)) {
    return `This token can write only ${coveredRoot(coverage)} and names below it.`;
  }
  if (!isWritableType(type)) {
    return `Records of this type cannot be written. Use one of ${writableTypes.join(', ')}.`;
  }
  if (!coversType(coverage, type)) return `This token can write only the types ${withinTypes.join(', ')}.`;
  return null;
}
