import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { objectsOfName } from '@corral/domain';
import { describeNeeding } from '@corral/testing';
import { goModule } from '@corral/testing/go-programs';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { type Definition, type Schema, strict } from '../support/kubernetes/extract-kinds.js';
import { builtFile } from '../support/system/program.js';

/*
 * What cert-manager accepts is known from its definitions of resources. Its controllers run in `clients-name-on-a-cluster.test.ts`,
 * with a program in the place of the webhook, which cannot be had as a library.
 */

const CERT_MANAGER = 'github.com/cert-manager/cert-manager@v1.21.2';
const folder = goModule(CERT_MANAGER);
const missing = { what: 'the definitions of cert-manager', how: 'install Go, and let it reach a module proxy' };

describeNeeding(describe, folder === null ? missing : null, 'the manifest for cert-manager', () => {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  const definition = (kind: string): Schema => {
    const text = readFileSync(join(folder as string, 'deploy/crds', `cert-manager.io_${kind}.yaml`), 'utf8');
    const [version] = (parse(text) as Definition).spec.versions.filter(({ storage }) => storage);
    const { properties, ...rest } = strict(version?.schema.openAPIV3Schema) as Schema & { properties: Schema };
    return { ...rest, properties: { ...properties, metadata: true } };
  };
  const kinds: Readonly<Record<string, string>> = {
    Issuer: 'issuers',
    ClusterIssuer: 'clusterissuers',
    Certificate: 'certificates',
  };
  const manifest = readFileSync(builtFile('tests/clients/cert-manager/issuer.yaml'), 'utf8');
  /** @returns what is wrong with each object */
  const errorsOf = (text: string) =>
    parseAllDocuments(text).map((document) => {
      const object = document.toJS() as { kind: string };
      const validate = ajv.compile(definition(kinds[object.kind] as string));
      return { kind: object.kind, errors: validate(object) ? [] : validate.errors };
    });

  it('has resources as cert-manager defines them', () => {
    expect(errorsOf(manifest)).toEqual([
      { kind: 'Issuer', errors: [] },
      { kind: 'Certificate', errors: [] },
    ]);
  });

  it('has the issuer of a name on a cluster as cert-manager defines it', () => {
    const [zone, endpoint, acmeServer] = ['example.org', 'https://dns.example.org/v1', 'https://acme.example.org/dir'];
    const { certificates } = objectsOfName({ name: 'shop.acme', zone, endpoint, acmeServer }, null);
    const issuer = certificates.find(({ kind }) => kind === 'ClusterIssuer');

    expect(errorsOf(stringify(issuer))).toEqual([{ kind: 'ClusterIssuer', errors: [] }]);
    expect(errorsOf(stringify(issuer).replace('solverName', 'solver'))).not.toEqual([
      { kind: 'ClusterIssuer', errors: [] },
    ]);
  });

  it.each([
    ['cnameStrategy: Follow', 'cnameStrategy: Always'],
    ['solverName: hetzner', 'solver: hetzner'],
    ['secretName: acme-tls', 'secret: acme-tls'],
  ])('does not fit when %s is written as %s', (right, wrong) => {
    const errors = errorsOf(manifest.replace(right, wrong)).flatMap((each) => each.errors);

    expect(errors.length).toBeGreaterThan(0);
  });
});
