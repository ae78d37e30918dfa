import type { Example } from '../../openapi-parts.js';
import { placeOf } from '../../places.js';
import { type ProblemCode, problemCodes } from '../problem-codes.js';

/** The field named by problems that list invalid fields. */
const places: Partial<Record<ProblemCode, { pointer: string; message: string }>> = {
  validation_failed: { pointer: '/spec/region', message: 'is required' },
  immutable_field: {
    pointer: '/spec/region',
    message: 'is hel1 and cannot change for a declared cluster. Declare a new cluster instead',
  },
  invalid_network: {
    pointer: '/spec/network/podCIDR',
    message: 'overlaps the range of the nodes. Choose a range that does not overlap',
  },
  invalid_node_pool: {
    pointer: '/spec/nodePools/0/machineType',
    message: 'is not available in hel1. Choose another machine type',
  },
  unsupported_version: { pointer: '/spec/kubernetesVersion', message: 'must be an available version: 1.35.1, 1.34.3' },
  unsupported_by_garden: {
    pointer: '/spec/network/existingNetwork',
    message: 'is not supported here: every cluster gets its own network. Omit the field',
  },
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
    ...(place === undefined
      ? {}
      : { errors: [{ ...place, code, detail: `${placeOf(place.pointer)} ${place.message}.` }] }),
  };
  return { summary: title, value };
}
