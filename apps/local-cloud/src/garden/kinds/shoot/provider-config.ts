import { checkFields } from '../../fields/check-fields.js';
import { any, type FieldType, flag, listOf, mapOf, struct, text } from '../../fields/schema.js';
import { type Fields, isFields } from '../../kube/object.js';

const API_VERSION = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';
const typeMeta = { apiVersion: text, kind: text };

const schemas = {
  InfrastructureConfig: struct({
    ...typeMeta,
    floatingPoolName: text,
    networks: struct({ workersConfiguration: struct({ cidr: text, zone: text }), workers: text }),
  }),
  ControlPlaneConfig: struct({
    ...typeMeta,
    zone: text,
    cloudControllerManager: struct({ featureGates: mapOf(flag) }),
    loadBalancerClasses: listOf(any),
    loadBalancerSize: text,
  }),
  WorkerConfig: struct({ ...typeMeta, placementGroupType: text }),
} as const satisfies Record<string, FieldType>;

/**
 * Decodes an object of the provider as strictly as the extension does.
 *
 * @returns the object, or what is wrong with it
 */
export function decodeProviderConfig(kind: keyof typeof schemas, value: unknown): Fields | string {
  if (!isFields(value)) return `could not decode ${kind}: the object is missing`;
  if (value.apiVersion !== API_VERSION || value.kind !== kind) {
    return `no kind ${JSON.stringify(value.kind ?? '')} is registered for version ${JSON.stringify(value.apiVersion ?? '')}`;
  }
  const { unknown, mistyped } = checkFields(schemas[kind], value);
  if (mistyped !== null) return mistyped;
  const fields = unknown.map((field) => `unknown field ${JSON.stringify(field)}`);
  return fields.length === 0 ? value : `strict decoding error: ${fields.join(', ')}`;
}
