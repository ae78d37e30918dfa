import type { ParameterNote } from '../openapi/document.js';
import { dnsLimits } from './limits.js';
import { slugSchema } from './names.js';

/** Also of the numbers of pages and of their items. */
const id = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;

/** Path parameters by name. */
export const dnsPathParameters: Readonly<Record<string, ParameterNote>> = {
  zone: {
    description: 'ID or name of the zone.',
    schema: { type: 'string', minLength: 1, maxLength: dnsLimits.fullNameCharacters },
    example: 'example.test',
  },
  name: {
    description:
      'Name of the record set, relative to the zone: lower-case labels. `*` is allowed only as the whole first label.',
    schema: {
      type: 'string',
      maxLength: dnsLimits.fullNameCharacters,
      pattern: '^(\\*|[a-z0-9_-]{1,63})(\\.[a-z0-9_-]{1,63})*$',
    },
    example: 'www.acme',
  },
  type: {
    description: 'Record type. Writes support `A`, `AAAA`, `CNAME` and `TXT`.',
    schema: { type: 'string', pattern: '^[A-Z0-9]{1,16}$' },
    example: 'A',
  },
  id: { description: 'ID of an action.', schema: id, example: 91 },
  label: { description: 'Label of the demo.', schema: slugSchema, example: 'blue-otter' },
};

/** Narrower schemas and examples of query parameters, by name. */
export const dnsQueryNotes: Readonly<Record<string, { readonly schema?: object; readonly example?: unknown }>> = {
  page: { schema: { ...id, default: 1 }, example: 1 },
  per_page: { schema: { ...id, default: dnsLimits.perPageDefault }, example: dnsLimits.perPageMax },
  sort: { example: ['id:desc'] },
  label_selector: { example: 'env=prod' },
  id: { schema: id, example: [91] },
};

/** Limits of repeatable parameters. */
export const repetitionsMax: Readonly<Record<string, number>> = { id: dnsLimits.actionIdsPerRequest };
