export type Labels = Readonly<Record<string, string>>;
export type LabelTest = (labels: Labels) => boolean;

const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const KEY = `(?:[a-z0-9][-a-z0-9.]{0,252}/)?${NAME}`;
const VALUE = `(?:${NAME})?`;

const labelKey = new RegExp(`^${KEY}$`);
const labelValue = new RegExp(`^${VALUE}$`);
const requirement = new RegExp(`^(?:!(${KEY})|(${KEY})(?:=(${VALUE})|\\s+in\\s*\\(([^()]*)\\))?)$`);

/** The key of the first label that is not valid; undefined if all are. */
export const invalidLabelIn = (labels: Labels): string | undefined =>
  Object.keys(labels).find((key) => !labelKey.test(key) || !labelValue.test(labels[key] ?? ''));

/**
 * Parses a label selector of the provider or Kubernetes, as Corral writes them: `k`, `!k`, `k=v` and `k in (a,b)`; commas mean AND.
 * The empty selector matches everything.
 *
 * @param refusal creates the error to throw for any other part
 */
export function parseLabelSelector(selector: string, refusal: (part: string) => Error): LabelTest {
  const parts = selector.split(/,(?![^()]*\))/).map((part) => part.trim());
  const tests = (selector === '' ? [] : parts).map((part): LabelTest => {
    const [, absent, key = '', one, list] = requirement.exec(part) ?? [];
    const values = one === undefined ? list?.split(',').map((value) => value.trim()) : [one];
    if (absent !== undefined) return (labels) => !Object.hasOwn(labels, absent);
    if (key === '' || values?.every((value) => labelValue.test(value)) === false) throw refusal(part);
    return (labels) => Object.hasOwn(labels, key) && (values?.includes(labels[key] ?? '') ?? true);
  });
  return (labels) => tests.every((test) => test(labels));
}
