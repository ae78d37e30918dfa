export type Labels = Readonly<Record<string, string>>;
export type LabelTest = (labels: Labels) => boolean;

/**
 * Parses a label selector of the provider or Kubernetes, as Corral writes them: `k`, `!k`, `k=v` and `k in (a,b)`; commas mean AND.
 * The empty selector matches everything.
 */
export function parseLabelSelector(selector: string): LabelTest {
  const parts = selector.split(/,(?![^()]*\))/).flatMap((part) => part.trim() || []);
  const tests = parts.map((part): LabelTest => {
    const [, not, key = '', one, list] = /^(!?)([^\s=]+)(?:=(\S*)|\s+in\s*\(([^()]*)\))?$/.exec(part) ?? [];
    const values = one === undefined ? list?.split(',').map((value) => value.trim()) : [one];
    const isThere: LabelTest = (labels) => Object.hasOwn(labels, key) && (values?.includes(labels[key] ?? '') ?? true);
    return not === '!' ? (labels) => !isThere(labels) : isThere;
  });
  return (labels) => tests.every((test) => test(labels));
}
