import type { Secret } from '../kinds/core-kinds.js';
import { type FieldError, invalid, required } from '../kube/field-error.js';

export const TOKEN_TYPE = 'bootstrap.kubernetes.io/token';

const idPattern = /^[a-z0-9]{6}$/;
const secretPattern = /^[a-z0-9]{16}$/;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

const valueIn = ({ data = {} }: Secret, key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');

/**
 * What is wrong with a Secret that is to be a bootstrap token. A real API server takes them all and heeds only the good
 * ones: here whoever made a bad one is told.
 */
export function tokenErrors(secret: Secret): FieldError[] {
  const { name = '' } = secret.metadata;
  const [id, secretPart, expiration] = ['token-id', 'token-secret', 'expiration'].map((key) => valueIn(secret, key));
  const errors: FieldError[] = [];
  if (!idPattern.test(id ?? '')) errors.push(invalid('data[token-id]', id, `must match ${idPattern.source}`));
  // The value is a secret: it is not repeated.
  if (secretPart === '') errors.push(required('data[token-secret]', ''));
  else if (!secretPattern.test(secretPart ?? '')) {
    errors.push(invalid('data[token-secret]', '', `must match ${secretPattern.source}`));
  }
  if (name !== `bootstrap-token-${id}`) {
    errors.push(invalid('metadata.name', name, `must be bootstrap-token-${id}, after its token-id`));
  }
  if (expiration !== '' && !timePattern.test(expiration ?? '')) {
    errors.push(invalid('data[expiration]', expiration, 'must be a time of RFC 3339'));
  }
  if (valueIn(secret, 'usage-bootstrap-signing') === 'true') {
    errors.push(invalid('data[usage-bootstrap-signing]', 'true', 'must be absent: no server that joins needs it'));
  }
  return errors;
}

/** Whether the token has ended by this time. One without an expiration never does. */
export function isExpired(secret: Secret, nowMs: number): boolean {
  const expiration = valueIn(secret, 'expiration');
  return expiration !== '' && Date.parse(expiration) <= nowMs;
}

/** Whether somebody who shows this token, `id.secret`, is let in. */
export function admits(tokens: readonly Secret[], shown: string, nowMs: number): boolean {
  return tokens.some(
    (secret) =>
      `${valueIn(secret, 'token-id')}.${valueIn(secret, 'token-secret')}` === shown &&
      valueIn(secret, 'usage-bootstrap-authentication') === 'true' &&
      !isExpired(secret, nowMs),
  );
}
