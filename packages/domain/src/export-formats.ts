import { type Rrset, writeZoneFile } from '@corral/contracts';

export interface ExportedZone {
  readonly name: string;
  /** Default TTL in seconds. */
  readonly ttl: number;
}

/** Record sets as they are exported, sorted by name and type. */
export const sortedSets = (rrsets: readonly Rrset[]): Rrset[] =>
  rrsets.toSorted((one, other) => (`${one.name} ${one.type}` < `${other.name} ${other.type}` ? -1 : 1));

export const asZoneFile = (rrsets: readonly Rrset[], { name, ttl }: ExportedZone): string =>
  writeZoneFile(sortedSets(rrsets), { zoneName: name, zoneTtl: ttl });

/** Record sets in the shapes of the DNS API, with labels. */
export const asJson = (rrsets: readonly Rrset[]): string =>
  `${JSON.stringify(
    sortedSets(rrsets).map(({ name, type, ttl, labels, records }) => ({ name, type, ttl, labels, records })),
    null,
    2,
  )}\n`;

/** Resources of the provider `hetznercloud/hcloud`. Sets that exist already have to be imported before an apply. */
export function asTerraform(rrsets: readonly Rrset[], { name: zone }: ExportedZone): string {
  const used = new Set<string>();
  return sortedSets(rrsets)
    .map(({ name, type, ttl, labels, records }) => {
      const id = unusedId(`${name}_${type}`, used);
      const pairs = Object.entries(labels).map(([key, value]) => `    ${quoted(key)} = ${quoted(value)}`);
      return [
        `resource "hcloud_zone_rrset" "${id}" {`,
        `  zone = ${quoted(zone)}`,
        `  name = ${quoted(name)}`,
        `  type = ${quoted(type)}`,
        ...(ttl === null ? [] : [`  ttl  = ${ttl}`]),
        ...(pairs.length === 0 ? [] : ['  labels = {', ...pairs, '  }']),
        '  records = [',
        ...records.map(({ value, comment }) =>
          comment === ''
            ? `    { value = ${quoted(value)} },`
            : `    { value = ${quoted(value)}, comment = ${quoted(comment)} },`,
        ),
        '  ]',
        '}',
        `# terraform import hcloud_zone_rrset.${id} '${zone}/${name}/${type}'`,
        '',
      ].join('\n');
    })
    .join('\n');
}

/** Identifiers of Terraform begin with a letter or underscore. */
function unusedId(text: string, used: Set<string>): string {
  const base = text
    .replace(/\*/g, 'any')
    .replace(/[^A-Za-z0-9_-]/g, '_')
    .replace(/^(?=[^A-Za-z_])/, '_');
  let id = base;
  for (let number = 2; used.has(id); number += 1) id = `${base}_${number}`;
  used.add(id);
  return id;
}

/** A string of HCL, in which `${` and `%{` begin templates. */
const quoted = (text: string): string => JSON.stringify(text).replace(/([$%])\{/g, '$1$1{');
