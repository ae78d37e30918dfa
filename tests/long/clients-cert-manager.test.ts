import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { goModule } from '@corral/testing/go-programs';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse, parseAllDocuments } from 'yaml';
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
  const kinds: Readonly<Record<string, string>> = { Issuer: 'issuers', Certificate: 'certificates' };
  const manifest = readFileSync(builtFile('tests/clients/cert-manager/issuer.yaml'), 'utf8');
  /** @returns what is wrong with each object */
  const errorsOf = (text: string) =>
    parseAllDocuments(text).map((document) => {
      const object = document.toJS() as { kind: string };
      const validate = ajv.compile(definition(kinds[object.kind] as string));
      return { kind: object.kind, errors: validate(object) ? [] : validate.errors };
    });

  it('has resources as cert-manager defines them, and no others', () => {
    const right = [
      { kind: 'Issuer', errors: [] },
      { kind: 'Certificate', errors: [] },
    ];
    expect(errorsOf(manifest)).toEqual(right);
    expect(errorsOf(manifest.replace('solverName: hetzner', 'solver: hetzner'))).not.toEqual(right);
  });
});
