export type Labels = Readonly<Record<string, string>>;
export type LabelTest = (labels: Labels) => boolean;

const prefixPattern = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const namePattern = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Whether the text is a valid label key: an optional DNS prefix and slash, then a name. */
export function isLabelKey(key: string): boolean {
  const [name = '', prefix, ...rest] = key.split('/').reverse();
  return namePattern.test(name) && (prefix === undefined || prefixPattern.test(prefix)) && rest.length === 0;
}

export const isLabelValue = (value: string): boolean => value === '' || namePattern.test(value);

const has = (labels: Labels, key: string): boolean => Object.hasOwn(labels, key);

/**
 * Parses a label selector of the provider or Kubernetes: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`,
 * `k notin (a,b)`. Commas mean AND. A missing label satisfies `!=` and `notin`. The empty selector matches everything.
 *
 * @param refusal creates the error to throw for an invalid part
 */
export function parseLabelSelector(selector: string, refusal: (part: string) => Error): LabelTest {
  if (selector.trim() === '') return () => true;
  const tests = selector.split(/,(?![^()]*\))/).map((part) => parseRequirement(part.trim(), refusal));
  return (labels) => tests.every((test) => test(labels));
}

function parseRequirement(text: string, refusal: (part: string) => Error): LabelTest {
  const check = (key: string, values: readonly string[]): void => {
    if (!isLabelKey(key) || !values.every(isLabelValue)) throw refusal(text);
  };
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    check(key, values);
    return (labels) => (has(labels, key) && values.includes(labels[key] ?? '')) === (operator === 'in');
  }
  const equality = /^([^\s=!]+)\s*(==|=|!=)\s*(\S*)$/.exec(text);
  if (equality !== null) {
    const [, key = '', operator, value = ''] = equality;
    check(key, [value]);
    return (labels) => (has(labels, key) && labels[key] === value) === (operator !== '!=');
  }
  const absent = text.startsWith('!');
  const key = absent ? text.slice(1).trim() : text;
  check(key, []);
  return (labels) => has(labels, key) !== absent;
}
