import {
  canNarrowTo,
  clusterLimits,
  relativeName,
  type TokenCoverage,
  type WritableType,
  writableTypes,
} from '@corral/contracts';

/** How long a new token is valid: days, `date`, or `never`. */
export type Lifetime = '30' | '90' | '365' | 'date' | 'never';

/** The form of a new token, as typed. */
export interface TokenDraft {
  readonly name: string;
  readonly isNarrowed: boolean;
  readonly withinName: string;
  /** Empty: all types. */
  readonly types: readonly WritableType[];
  readonly lifetime: Lifetime;
  /** The last day of the lifetime `date`: `2027-06-30`. */
  readonly lastDay: string;
}

export const emptyDraft: TokenDraft = {
  name: '',
  isNarrowed: false,
  withinName: '',
  types: [],
  lifetime: '90',
  lastDay: '',
};

/** What tokens are commonly for, with the least that each needs. */
export interface Purpose {
  readonly id: string;
  readonly label: string;
  readonly narrowing: (team: string) => Pick<TokenDraft, 'isNarrowed' | 'withinName' | 'types'>;
}

export const purposes: readonly Purpose[] = [
  {
    id: 'certificates',
    label: 'Certificates',
    narrowing: (team) => ({ isNarrowed: true, withinName: `_acme-challenge.${team}`, types: ['TXT'] }),
  },
  {
    id: 'cluster',
    label: 'Names of a cluster',
    narrowing: (team) => ({ isNarrowed: true, withinName: `k8s.${team}`, types: [] }),
  },
  {
    id: 'dynamic',
    label: 'Dynamic address',
    narrowing: (team) => ({ isNarrowed: true, withinName: `home.${team}`, types: ['A', 'AAAA'] }),
  },
  { id: 'all', label: 'Everything', narrowing: () => ({ isNarrowed: false, withinName: '', types: [] }) },
];

/** What a token with this form would cover. */
export function coverageOf(draft: TokenDraft, { team, zone }: { team: string; zone: string }): TokenCoverage {
  return {
    ownerLabel: team,
    withinName: draft.isNarrowed ? relativeName(draft.withinName, zone) : null,
    withinTypes: typesOf(draft),
  };
}

const typesOf = ({ types }: TokenDraft) => writableTypes.filter((type) => types.includes(type));

const DAY_MS = 86_400_000;

/** @param now Unix time in ms @returns null for a token that does not expire, undefined for an invalid date */
export function expiryOf({ lifetime, lastDay }: TokenDraft, now: number): string | null | undefined {
  if (lifetime === 'never') return null;
  if (lifetime !== 'date') return new Date(now + Number(lifetime) * DAY_MS).toISOString();
  const end = Date.parse(`${lastDay}T23:59:59Z`);
  return Number.isNaN(end) ? undefined : new Date(end).toISOString();
}

/** What is wrong with the form, by field. */
export function problemsOf(
  draft: TokenDraft,
  { team, zone, now }: { team: string; zone: string; now: number },
): Partial<Record<'name' | 'withinName' | 'lastDay', string>> {
  const name = draft.name.trim();
  const withinName = relativeName(draft.withinName, zone);
  const expiresAt = expiryOf(draft, now);
  const most = clusterLimits.dnsTokenNameCharacters;
  return {
    ...(name === '' ? { name: 'Say what the token is for, such as “ci”.' } : {}),
    ...(name.length > most ? { name: `At most ${most} characters.` } : {}),
    ...(draft.isNarrowed && !canNarrowTo(withinName, team)
      ? { withinName: `Not your name. Use ${team} or a name below it, such as ci.${team}.` }
      : {}),
    ...(expiresAt === undefined ? { lastDay: 'Choose the last day.' } : {}),
    ...(expiresAt && Date.parse(expiresAt) <= now ? { lastDay: 'Choose a day in the future.' } : {}),
  };
}

/** The body of the request. */
export function tokenWish(draft: TokenDraft, place: { team: string; zone: string; now: number }) {
  const { withinName } = coverageOf(draft, place);
  const withinTypes = typesOf(draft);
  return { name: draft.name.trim(), withinName, withinTypes, expiresAt: expiryOf(draft, place.now) ?? null };
}

/** "_acme-challenge.acme and below, TXT", for lists. */
export function coverageText({ ownerLabel, withinName, withinTypes }: TokenCoverage): string {
  const names = withinName === null ? `all names of ${ownerLabel}` : `${withinName} and below`;
  return `${names}, ${withinTypes.length === 0 ? 'all types' : withinTypes.join(' ')}`;
}

const SOON_MS = 14 * DAY_MS;

/** Whether a token should be replaced now. @param now Unix time in ms */
export const isEndingSoon = (expiresAt: string | null, now: number): boolean =>
  expiresAt !== null && Date.parse(expiresAt) - now < SOON_MS;
