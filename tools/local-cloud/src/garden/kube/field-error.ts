/** A validation error in the words of Kubernetes. */
export interface FieldError {
  readonly reason: string;
  /** Field path, for example `spec.provider.workers[0].name`. */
  readonly field: string;
  /** Without the field path. */
  readonly message: string;
}

/** Formats a refused value like Go: quoted strings, bare numbers, other values as JSON. */
const shown = (value: unknown): string => (value === undefined ? 'null' : JSON.stringify(value));

export const required = (field: string, detail: string): FieldError => ({
  reason: 'FieldValueRequired',
  field,
  message: `Required value: ${detail}`,
});

export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  reason: 'FieldValueInvalid',
  field,
  message: `Invalid value: ${shown(value)}: ${detail}`,
});

export const forbiddenField = (field: string, detail: string): FieldError => ({
  reason: 'FieldValueForbidden',
  field,
  message: `Forbidden: ${detail}`,
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  reason: 'FieldValueNotSupported',
  field,
  message: `Unsupported value: ${shown(value)}: supported values: ${supported.map((item) => shown(item)).join(', ')}`,
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  reason: 'FieldValueDuplicate',
  field,
  message: `Duplicate value: ${shown(value)}`,
});

export const tooLong = (field: string, bytesMax: number): FieldError => ({
  reason: 'FieldValueTooLong',
  field,
  message: `Too long: may not be more than ${bytesMax} bytes`,
});

export const immutable = (field: string, value: unknown): FieldError => invalid(field, value, 'field is immutable');

const lineOf = ({ field, message }: FieldError): string => `${field}: ${message}`;

/** Joins several errors into one text: a single error unchanged, several in brackets. */
export function aggregate(errors: readonly FieldError[]): string {
  const lines = [...new Set(errors.map(lineOf))];
  return lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
}

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const checkName =
  (lengthMax: number, pattern: RegExp, rule: string) =>
  (field: string, name: string): FieldError[] => {
    if (name.length > lengthMax) return [invalid(field, name, `must be no more than ${lengthMax} characters`)];
    return pattern.test(name) ? [] : [invalid(field, name, rule)];
  };

export const checkDnsLabel = checkName(63, dnsLabel, labelRule);
export const checkDnsSubdomain = checkName(253, dnsSubdomain, subdomainRule);
