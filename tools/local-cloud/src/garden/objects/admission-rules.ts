import type { AdmissionRule } from '../garden-settings.js';
import type { Kind } from '../kinds/kind.js';
import type { KubeObject } from '../kube/object.js';
import { forbidden, internalError, StatusError } from '../kube/status-error.js';

/** Validating admission by what operators have installed. The first rule that is in the way decides. @throws StatusError */
export function judgeByRules(
  rules: readonly AdmissionRule[],
  kind: Kind,
  { metadata, spec }: KubeObject & { readonly spec?: unknown },
  operation: NonNullable<AdmissionRule['operations']>[number],
): void {
  const rule = rules.find(
    ({ resource = 'shoots', namespace = metadata.namespace, operations = ['CREATE', 'UPDATE'], when = '' }) =>
      resource === kind.plural &&
      namespace === metadata.namespace &&
      operations.includes(operation) &&
      new RegExp(when).test(JSON.stringify(spec ?? {})),
  );
  if (rule !== undefined) throw refusalOf(rule, kind, metadata.name ?? '');
}

function refusalOf({ name, kind, message }: AdmissionRule, resource: Kind, object: string): StatusError {
  if (kind === 'dead webhook') {
    const address = `https://${name}.example.org:443/validate?timeout=10s`;
    return internalError(
      `failed calling webhook "${name}": failed to call webhook: Post "${address}": dial tcp 192.0.2.1:443: connect: connection refused`,
    );
  }
  if (kind === 'webhook') {
    const said = message === undefined ? ' without explanation' : `: ${message}`;
    return new StatusError(403, 'Forbidden', `admission webhook "${name}" denied the request${said}`);
  }
  const why = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${message ?? 'failed expression: false'}`;
  const { message: whole, details } = forbidden(resource, object, why);
  return new StatusError(422, 'Invalid', whole, { ...details, causes: [{ message: why }] });
}
