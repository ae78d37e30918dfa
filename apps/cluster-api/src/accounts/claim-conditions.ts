import { type ClaimConditions, clusterLimits } from '@corral/contracts';

/* Conditions on the claims of tokens. */

/** Claims of a token whose signature was checked. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * @param pattern an exact value, or with `*`: at the end for any characters, elsewhere for any but `/` and `:`
 * @param claim only text, numbers and booleans match
 */
export function claimMatches(pattern: string, claim: unknown): boolean {
  if (typeof claim !== 'string' && typeof claim !== 'number' && typeof claim !== 'boolean') return false;
  const text = String(claim);
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let end = first.length;
  for (const part of others) {
    // If the first occurrence is too far, all are; and it leaves most to the rest.
    const at = text.indexOf(part, end);
    if (at === -1 || crosses(text.slice(end, at))) return false;
    end = at + part.length;
  }
  if (last === '') return true;
  const rest = text.slice(end);
  return rest.endsWith(last) && !crosses(rest.slice(0, rest.length - last.length));
}

const crosses = (gap: string): boolean => /[/:]/.test(gap);

/** Whether all conditions hold. Claims that are absent hold none. */
export const conditionsHold = (conditions: ClaimConditions, claims: Claims): boolean =>
  Object.entries(conditions).every(
    ([name, pattern]) => Object.hasOwn(claims, name) && claimMatches(pattern, claims[name]),
  );

export interface ConditionFault {
  /** A member of `claims`. */
  readonly name: string;
  /** Continues a sentence after the name of the field, without a full stop. */
  readonly message: string;
}

/** So many characters of `sub` come before its first `*`, so that not everybody fits. */
const SUB_PREFIX_MIN = 8;

/** Issuers whose tokens everybody can get: something must name an owner. */
const publicIssuers: Readonly<Record<string, { readonly sub: RegExp; readonly owners: readonly string[] }>> = {
  'https://token.actions.githubusercontent.com': {
    sub: /^repo:[^/*]+\//,
    owners: ['repository', 'repository_id', 'repository_owner', 'repository_owner_id'],
  },
  'https://gitlab.com': {
    sub: /^project_path:[^/*]+\//,
    owners: ['project_id', 'project_path', 'namespace_id', 'namespace_path'],
  },
};

/** Finds conditions that are too wide or have too many `*`. @returns null when there is none */
export function faultOfConditions(issuer: string, conditions: ClaimConditions): ConditionFault | null {
  for (const [name, pattern] of Object.entries(conditions)) {
    if (pattern.split('*').length - 1 > clusterLimits.claimWildcards) {
      return { name, message: `must have at most ${clusterLimits.claimWildcards} *` };
    }
  }
  const { sub = '' } = conditions;
  const star = sub.indexOf('*');
  if (star !== -1 && star < SUB_PREFIX_MIN) {
    return { name: 'sub', message: `must begin with at least ${SUB_PREFIX_MIN} characters other than *` };
  }
  const known = publicIssuers[issuer.toLowerCase().replace(/\/+$/, '')];
  const namesOwner = known?.owners.some((name) => conditions[name] !== undefined && !conditions[name].includes('*'));
  if (known === undefined || namesOwner || known.sub.test(sub)) return null;
  const others = known.owners.join(', ');
  return { name: 'sub', message: `must name the owner before a *, or another condition must: ${others}` };
}
