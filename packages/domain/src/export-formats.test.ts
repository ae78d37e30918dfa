import type { Rrset } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { asJson, asTerraform, asZoneFile } from './export-formats.js';

const aSet = (over: Partial<Rrset>): Rrset => ({
  id: 'x',
  name: 'www.acme',
  type: 'A',
  ttl: null,
  labels: {},
  protection: { change: false },
  records: [{ value: '192.0.2.7', comment: '' }],
  zone: 1,
  ...over,
});
const rrsets = [
  aSet({ ttl: 300, labels: { env: 'prod' } }),
  aSet({ name: '*.acme', type: 'TXT', records: [{ value: `"a\${b} %{c} \\"d\\""`, comment: 'why' }] }),
  aSet({ name: 'any.acme', type: 'TXT', records: [{ value: '"x"', comment: '' }] }),
];
const zone = { name: 'example.test', ttl: 3_600 };

describe('an export of record sets', () => {
  it('is a zone file', () => {
    expect(asZoneFile(rrsets, zone)).toContain('www.acme 300 IN A   192.0.2.7');
  });

  it('is JSON with labels', () => {
    expect(JSON.parse(asJson(rrsets))[2]).toEqual({
      name: 'www.acme',
      type: 'A',
      ttl: 300,
      labels: { env: 'prod' },
      records: [{ value: '192.0.2.7', comment: '' }],
    });
  });

  it('is Terraform, with distinct identifiers, escaped templates and how to import what exists', () => {
    expect(asTerraform(rrsets, zone)).toBe(`resource "hcloud_zone_rrset" "any_acme_TXT" {
  zone = "example.test"
  name = "*.acme"
  type = "TXT"
  records = [
    { value = "\\"a$\${b} %%{c} \\\\\\"d\\\\\\"\\"", comment = "why" },
  ]
}
# terraform import hcloud_zone_rrset.any_acme_TXT 'example.test/*.acme/TXT'

resource "hcloud_zone_rrset" "any_acme_TXT_2" {
  zone = "example.test"
  name = "any.acme"
  type = "TXT"
  records = [
    { value = "\\"x\\"" },
  ]
}
# terraform import hcloud_zone_rrset.any_acme_TXT_2 'example.test/any.acme/TXT'

resource "hcloud_zone_rrset" "www_acme_A" {
  zone = "example.test"
  name = "www.acme"
  type = "A"
  ttl  = 300
  labels = {
    "env" = "prod"
  }
  records = [
    { value = "192.0.2.7" },
  ]
}
# terraform import hcloud_zone_rrset.www_acme_A 'example.test/www.acme/A'
`);
  });
});
