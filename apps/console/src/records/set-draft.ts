import { type Rrset, textValue } from '@corral/contracts';
import { contentOf, labelTexts, type PlanContext, planChanges, type SetContent, type WantedSet } from '@corral/domain';

/** A record set while it is edited: all fields as typed. */
export interface SetDraft {
  readonly name: string;
  readonly type: string;
  /** Seconds; empty for the zone's default. */
  readonly ttl: string;
  /** `env=prod, team=web`. */
  readonly labels: string;
  readonly records: readonly { readonly value: string; readonly comment: string }[];
}

export const emptyDraft = (ownerLabel: string): SetDraft => ({
  name: ownerLabel,
  type: 'A',
  ttl: '',
  labels: '',
  records: [{ value: '', comment: '' }],
});

export const draftOf = (name: string, type: string, { ttl, labels, records }: SetContent): SetDraft => ({
  name,
  type,
  ttl: ttl === null ? '' : String(ttl),
  labels: labelTexts(labels).join(', '),
  records: records.map(({ value, comment }) => ({ value, comment: comment ?? '' })),
});

export interface ReadDraft {
  readonly wanted: WantedSet;
  /** What the API or the provider refuses. */
  readonly problems: readonly string[];
  /** What it replaces that somebody else changed. */
  readonly warnings: readonly string[];
}

/**
 * Reads a draft, with what is wrong about it by the rules of a plan.
 *
 * @param isNew the set must not exist yet
 */
export function readDraft(draft: SetDraft, rrsets: readonly Rrset[], context: PlanContext, isNew: boolean): ReadDraft {
  const name = draft.name.trim().toLowerCase();
  const { type } = draft;
  const ttl = draft.ttl.trim() === '' ? null : Number(draft.ttl);
  const labels = parseLabels(draft.labels);
  const records = draft.records
    .map(({ value, comment }) => ({ value: typedValue(type, value.trim()), comment: comment.trim() || null }))
    .filter(({ value, comment }, index, all) => value !== '' || comment !== null || all.length === index + 1);
  const wanted: WantedSet = { name, type, content: { records, ttl, labels: labels ?? {} } };
  const plan = planChanges(rrsets, [wanted], context);
  const exists = rrsets.some((rrset) => rrset.name === name && rrset.type === type);
  const problems = [
    ...plan.refused.flatMap(({ refusal }) => refusal ?? []),
    ...(isNew && exists ? [`The set ${name} ${type} exists already. Change that one.`] : []),
    ...(labels === null ? ['Labels have the form key=value, separated by commas.'] : []),
    ...(plan.quotaProblem === null ? [] : [plan.quotaProblem]),
  ];
  return { wanted, problems, warnings: plan.warnings };
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
