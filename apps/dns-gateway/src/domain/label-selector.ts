export type Labels = Readonly<Record<string, string>>;
export type LabelPredicate = (labels: Labels) => boolean;

const key = '[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?';
const value = '(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?';
const existence = new RegExp(`^(!?)\\s*(${key})$`);
const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*(${value})$`);
const membership = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const valueOnly = new RegExp(`^${value}$`);
/** Longer texts are no honest selectors, and splitting them takes time that grows with the square of their length. */
const CHARACTERS_MAX = 2_048;

/**
 * Reads the upstream's selector language: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, joined by
 * commas that mean "and". As in Kubernetes, the negative forms also match where the label is absent.
 *
 * @returns undefined when the text is no selector
 */
export function parseLabelSelector(text: string): LabelPredicate | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const predicates = splitOutsideParentheses(text).map((part) => parseRequirement(part.trim()));
  if (predicates.some((predicate) => predicate === undefined)) return undefined;
  return (labels) => predicates.every((predicate) => predicate?.(labels));
}

function parseRequirement(text: string): LabelPredicate | undefined {
  const exists = existence.exec(text);
  if (exists !== null) {
    const [, negation, name] = exists as unknown as [string, string, string];
    return (labels) => Object.hasOwn(labels, name) === (negation === '');
  }
  const equals = equality.exec(text);
  if (equals !== null) {
    const [, name, operator, wanted] = equals as unknown as [string, string, string, string];
    return (labels) => (labelOf(labels, name) === wanted) === (operator !== '!=');
  }
  const member = membership.exec(text);
  if (member === null) return undefined;
  const [, name, operator, list] = member as unknown as [string, string, string, string];
  const wanted = list.split(',').map((item) => item.trim());
  if (!wanted.every((item) => valueOnly.test(item))) return undefined;
  return (labels) => {
    const present = labelOf(labels, name);
    return (present !== undefined && wanted.includes(present)) === (operator === 'in');
  };
}

function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

function splitOutsideParentheses(text: string): string[] {
  return text.split(/,(?![^(]*\))/);
}
