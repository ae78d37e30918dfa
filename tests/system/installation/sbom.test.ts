import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { describe, expect, it } from '@jest/globals';

const distOf = (app: string, file: string) =>
  readFileSync(fileURLToPath(new URL(`../../../apps/${app}/dist/${file}`, import.meta.url)), 'utf8');

interface Bom {
  readonly components: readonly { readonly name: string; readonly version: string; readonly licenses: unknown[] }[];
}

describe.each([
  ['dns-gateway', ['express', 'pg', 'swagger-ui-dist']],
  ['cluster-api', ['express', 'ajv', '@prisma/client']],
  ['reconciler', ['bullmq', 'yaml']],
  ['admin', ['commander', '@prisma/schema-engine-wasm']],
  ['cli', ['commander', 'cli-table3', 'yaml']],
  ['console', ['react', '@tanstack/react-router']],
])('the bill of materials of %s', (app, shipped) => {
  const text = distOf(app, 'sbom.cdx.json');
  const { components } = JSON.parse(text) as Bom;
  const names = components.map(({ name }) => name);

  it('is a valid CycloneDX document', async () => {
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
  });

  it('lists what is shipped, and no tool of the build or the tests', () => {
    const fullNames = components.map(({ group, name }: { group?: string; name: string }) =>
      group === undefined ? name : `${group}/${name}`,
    );
    expect(fullNames).toEqual(expect.arrayContaining(shipped));
    expect(names.filter((name) => /^(?:jest|typescript|esbuild|vite|turbo|nock|supertest)$/.test(name))).toEqual([]);
  });

  it('states a licence of each package, whose text is shipped, too', () => {
    const texts = distOf(app, 'third-party-licenses.txt');
    for (const { name, version, licenses } of components) {
      expect([name, licenses.length]).toEqual([name, 1]);
      expect(texts).toContain(`${name} ${version}\nLicence: `);
    }
  });
});
