/**
 * How sentences name a place in a body: `spec.nodePools[0].machineType` for `/spec/nodePools/0/machineType`.
 *
 * @param pointer JSON pointer (RFC 6901)
 * @returns empty for the body itself
 */
export const placeOf = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part, index) => (/^\d+$/.test(part) ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
