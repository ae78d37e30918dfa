import { isAtOrBelow, type Rrset, textValue } from '@corral/contracts';
import {
  contentOf,
  coverageOf,
  labelTexts,
  type PlanContext,
  planChanges,
  problemsOf,
  type SetContent,
  type WantedSet,
} from '@corral/domain';

/** A record set while it is edited: all fields as typed. */
export interface SetDraft {
  /** The name as `typedName` reads it. */
  readonly name: string;
  readonly type: string;
  /** Seconds; empty for the zone's default. */
  readonly ttl: string;
  /** `env=prod, team=web`. */
  readonly labels: string;
  readonly records: readonly { readonly value: string; readonly comment: string }[];
}

export const emptyDraft: SetDraft = {
  name: '',
  type: 'A',
  ttl: '',
  labels: '',
  records: [{ value: '', comment: '' }],
};

export const draftOf = (name: string, type: string, { ttl, labels, records }: SetContent): SetDraft => ({
  name,
  type,
  ttl: ttl === null ? '' : String(ttl),
  labels: labelTexts(labels).join(', '),
  records: records.map(({ value, comment }) => ({ value, comment: comment ?? '' })),
});

/** What is wrong, and at which field: a number is the place of the value. */
export interface DraftProblem {
  readonly at: 'name' | 'ttl' | 'labels' | 'records' | 'plan' | number;
  readonly text: string;
}

export interface ReadDraft {
  readonly wanted: WantedSet;
  /** What would become of the set, with what somebody else changed meanwhile and the draft does not. */
  readonly to: SetContent | null;
  /** All that the API or the provider refuses. */
  readonly problems: readonly DraftProblem[];
  /** What it replaces that somebody else changed. */
  readonly warnings: readonly string[];
}

/**
 * The name of a set as typed: `www` is below the name of the team, and a name that ends in it, or in the zone, is taken as it is.
 *
 * @returns it relative to the zone
 */
export function typedName(typed: string, { zoneName, ownerLabel }: PlanContext): string {
  const name = typed.trim().toLowerCase().replace(/\.$/, '');
  if (name === '' || name === '@') return ownerLabel;
  if (isAtOrBelow(name, zoneName)) return name.slice(0, -zoneName.length - 1) || '@';
  return isAtOrBelow(name, ownerLabel) ? name : `${name}.${ownerLabel}`;
}

/**
 * Reads a draft, with what is wrong about it by the rules of a plan.
 *
 * @param seen the set as it was when the draft was begun; null: it must not exist yet
 */
export function readDraft(
  draft: SetDraft,
  rrsets: readonly Rrset[],
  context: PlanContext,
  seen: SetContent | null,
): ReadDraft {
  const name = typedName(draft.name, context);
  const { type } = draft;
  const ttl = draft.ttl.trim() === '' ? null : Number(draft.ttl);
  const labels = parseLabels(draft.labels);
  const typed = draft.records
    .map(({ value, comment }, at) => ({ value: typedValue(type, value.trim()), comment: comment.trim() || null, at }))
    .filter(({ value, comment, at }, _, all) => value !== '' || comment !== null || all.length === at + 1);
  const records = typed.map(({ value, comment }) => ({ value, comment }));
  const content = { records, ttl, labels: labels ?? {} };
  const wanted: WantedSet = { name, type, content, seen };
  const plan = planChanges(rrsets, [wanted], context);
  const [change] = [...plan.refused, ...plan.waves.flat()];
  const found = change === undefined ? [] : problemsOf(change, coverageOf(context), context.zoneName);
  const exists = rrsets.some((rrset) => rrset.name === name && rrset.type === type);
  const problems: (DraftProblem | false)[] = [
    ...found.map(({ at, text }) => ({ at: typeof at === 'number' ? (typed[at]?.at ?? at) : at, text })),
    found.length === 0 && change?.refusal !== undefined && { at: 'name', text: change.refusal },
    seen === null && exists && { at: 'name', text: `The set ${name} ${type} exists already. Change that one.` },
    labels === null && { at: 'labels', text: 'Labels have the form key=value, separated by commas.' },
    plan.quotaProblem !== null && { at: 'plan', text: plan.quotaProblem },
  ];
  const to = change === undefined ? existingContent(rrsets, name, type) : change.to;
  return { wanted, to, problems: problems.filter((problem) => problem !== false), warnings: plan.warnings };
}

const typedValue = (type: string, typed: string): string => (type === 'TXT' && typed !== '' ? textValue(typed) : typed);

function parseLabels(text: string): Readonly<Record<string, string>> | null {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '');
  if (pairs.some((pair) => !/^[^=\s]+=\S*$/.test(pair))) return null;
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const),
  );
}

/** The name to which a CNAME leads: values without a final dot are relative to the zone. */
export const targetOf = (value: string, zoneName: string): string =>
  value === '@' ? zoneName : value.endsWith('.') ? value.slice(0, -1) : `${value}.${zoneName}`;

/** The set that a wanted set comes from, as content. */
export const existingContent = (rrsets: readonly Rrset[], name: string, type: string): SetContent | null => {
  const rrset = rrsets.find((each) => each.name === name && each.type === type);
  return rrset === undefined ? null : contentOf(rrset);
};
