import type { Example } from '../../openapi-parts.js';
import { type ProblemCode, problemCodes } from '../problem-codes.js';

/** The field named by problems that list invalid fields. */
const places: Partial<Record<ProblemCode, { pointer: string; message: string }>> = {
  validation_failed: { pointer: '/spec/region', message: 'is required' },
  immutable_field: { pointer: '/spec/region', message: 'cannot change' },
  invalid_network: { pointer: '/spec/network/podCIDR', message: 'overlaps serviceCIDR' },
  invalid_node_pool: { pointer: '/spec/nodePools/0/machineType', message: 'is not known in this region' },
  unsupported_version: { pointer: '/spec/kubernetesVersion', message: 'is not offered' },
  unsupported_by_garden: { pointer: '/spec/network/existingNetwork', message: 'is not supported here' },
};

/** An example problem for each code, as rendered by the service. */
export const problemExamples = Object.fromEntries(
  (Object.keys(problemCodes) as ProblemCode[]).map((code) => [code, problemExample(code)]),
) as Readonly<Record<ProblemCode, Example>>;

function problemExample(code: ProblemCode): Example {
  const { title, status, meaning } = problemCodes[code];
  const place = places[code];
  const value = {
    type: `https://clusters.example.org/problems/${code}`,
    title,
    status,
    detail: meaning,
    code,
    instance: 'urn:uuid:6f9d1a52-0b3e-4c8d-9a77-2c1e5d4b8f60',
    operationId: null,
    ...(place === undefined ? {} : { errors: [{ ...place, code, detail: sentenceOf(place) }] }),
  };
  return { summary: title, value };
}

function sentenceOf({ pointer, message }: { readonly pointer: string; readonly message: string }): string {
  return `${pointer.slice(1).replaceAll('/', '.')} ${message}.`;
}
