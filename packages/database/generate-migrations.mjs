// Writes the names of all migrations to src/generated, so that bundled services know the schema that they need.
import { readdirSync, writeFileSync } from 'node:fs';

const names = readdirSync(new URL('../../prisma/migrations', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();
const source = `export const migrationNames: readonly string[] = ${JSON.stringify(names, null, 2)};\n`;
writeFileSync(new URL('src/generated/migration-names.ts', import.meta.url), source);
