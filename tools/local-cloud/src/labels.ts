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

/**
 * Parses a label selector of the provider or Kubernetes. Only `k`, `!k`, `k=v` and `k in (a,b)` are known; commas mean AND.
 * The empty selector matches everything.
 *
 * @param refusal creates the error to throw for any other part
 */
export function parseLabelSelector(selector: string, refusal: (part: string) => Error): LabelTest {
  if (selector.trim() === '') return () => true;
  const tests = selector.split(/,(?![^()]*\))/).map((part) => parseRequirement(part.trim(), refusal));
  return (labels) => tests.every((test) => test(labels));
}

function parseRequirement(text: string, refusal: (part: string) => Error): LabelTest {
  if (text.startsWith('!')) {
    const hasKey = parseRequirement(text.slice(1), refusal);
    return (labels) => !hasKey(labels);
  }
  const [, key = '', one, list] = /^([^\s=!]+)(?:=(\S*)|\s+in\s*\(([^()]*)\))?$/.exec(text) ?? [];
  const values = one === undefined ? list?.split(',').map((value) => value.trim()) : [one];
  if (!isLabelKey(key) || values?.every(isLabelValue) === false) throw refusal(text);
  return (labels) => Object.hasOwn(labels, key) && (values?.includes(labels[key] ?? '') ?? true);
}
