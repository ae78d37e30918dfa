/** One finding of a validation, in the words that Kubernetes uses for its kind. */
export interface FieldError {
  readonly reason: string;
  /** E.g. `spec.provider.workers[0].name`. */
  readonly field: string;
  /** Without the field. */
  readonly message: string;
}

/** How Go prints the refused value: texts in quotes, numbers bare, the rest as JSON. */
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

/** One text for several findings: alone as it is, several in brackets. */
export function aggregate(errors: readonly FieldError[]): string {
  const lines = [...new Set(errors.map(lineOf))];
  return lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
}
