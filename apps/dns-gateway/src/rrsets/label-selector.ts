import type { LabelRequirement } from '@corral/dns-data';

export type Labels = Readonly<Record<string, string>>;

const key = '[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?';
const value = '(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?';
const existence = new RegExp(`^(!?)\\s*(${key})$`);
const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*(${value})$`);
const membership = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const valueOnly = new RegExp(`^${value}$`);
/** Longer selectors are not legitimate, and splitting takes quadratic time. */
const CHARACTERS_MAX = 2_048;

/**
 * Reads the upstream's selector language: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, joined by
 * commas that mean "and". As in Kubernetes, the negative forms also match where the label is absent.
 *
 * @returns undefined for an invalid selector
 */
export function parseLabelSelector(text: string): LabelRequirement[] | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const requirements: LabelRequirement[] = [];
  for (const part of splitOutsideParentheses(text)) {
    const requirement = parseRequirement(part.trim());
    if (requirement === undefined) return undefined;
    requirements.push(requirement);
  }
  return requirements;
}

/** Whether the labels satisfy all requirements. */
export function fitsLabels(requirements: readonly LabelRequirement[], labels: Labels): boolean {
  return requirements.every(({ key: name, values, negated }) => {
    const present = Object.hasOwn(labels, name);
    const fits = present && (values === null || values.includes(labels[name] as string));
    return fits !== negated;
  });
}

function parseRequirement(text: string): LabelRequirement | undefined {
  const exists = existence.exec(text);
  if (exists !== null) {
    const [, negation, name] = exists as unknown as [string, string, string];
    return { key: name, values: null, negated: negation !== '' };
  }
  const equals = equality.exec(text);
  if (equals !== null) {
    const [, name, operator, wanted] = equals as unknown as [string, string, string, string];
    return { key: name, values: [wanted], negated: operator === '!=' };
  }
  const member = membership.exec(text);
  if (member === null) return undefined;
  const [, name, operator, list] = member as unknown as [string, string, string, string];
  const values = list.split(',').map((item) => item.trim());
  return values.every((item) => valueOnly.test(item))
    ? { key: name, values, negated: operator === 'notin' }
    : undefined;
}

function splitOutsideParentheses(text: string): string[] {
  return text.split(/,(?![^(]*\))/);
}
