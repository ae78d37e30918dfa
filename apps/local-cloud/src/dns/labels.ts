const edgeAndInside = '[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';
const keyName = new RegExp(`^${edgeAndInside}$`);
const labelValue = new RegExp(`^(?:${edgeAndInside})?$`);
const prefix = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/** Whether the text may be the key of a label: an optional DNS prefix, a slash, and a name. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash < 0) return keyName.test(key);
  const domain = key.slice(0, slash);
  return (
    domain !== 'hetzner.cloud' && domain.length <= 253 && prefix.test(domain) && keyName.test(key.slice(slash + 1))
  );
}

export const isLabelValue = (value: string): boolean => labelValue.test(value);
