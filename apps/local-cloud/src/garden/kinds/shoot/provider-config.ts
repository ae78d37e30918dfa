import { checkFields } from '../../fields/check-fields.js';
import { any, flag, listOf, mapOf, struct, text } from '../../fields/schema.js';
import type { ExtensionField } from '../../garden-settings.js';
import { type Fields, isFields } from '../../kube/object.js';

const API_VERSION = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';
const typeMeta = { apiVersion: text, kind: text };

const schemasWith = (extra: readonly ExtensionField[]) => ({
  InfrastructureConfig: struct({
    ...typeMeta,
    floatingPoolName: text,
    networks: struct({
      ...{ workersConfiguration: struct({ cidr: text, zone: text }), workers: text },
      ...(extra.includes('existingNetwork') ? { existingNetwork: text } : {}),
    }),
  }),
  ControlPlaneConfig: struct({
    ...typeMeta,
    zone: text,
    cloudControllerManager: struct({ featureGates: mapOf(flag) }),
    loadBalancerClasses: listOf(any),
    loadBalancerSize: text,
  }),
  WorkerConfig: struct({
    ...{ ...typeMeta, placementGroupType: text },
    ...(extra.includes('publicIP') ? { publicIP: flag } : {}),
  }),
});

/**
 * Decodes an object of the provider as strictly as the extension does.
 *
 * @returns the object, or what is wrong with it
 */
export function decodeProviderConfig(
  kind: keyof ReturnType<typeof schemasWith>,
  value: unknown,
  extra: readonly ExtensionField[],
): Fields | string {
  if (!isFields(value)) return `could not decode ${kind}: the object is missing`;
  if (value.apiVersion !== API_VERSION || value.kind !== kind) {
    return `no kind ${JSON.stringify(value.kind ?? '')} is registered for version ${JSON.stringify(value.apiVersion ?? '')}`;
  }
  const { unknown, mistyped } = checkFields(schemasWith(extra)[kind], value);
  if (mistyped !== null) return mistyped;
  const fields = unknown.map((field) => `unknown field ${JSON.stringify(field)}`);
  return fields.length === 0 ? value : `strict decoding error: ${fields.join(', ')}`;
}
