import { fileURLToPath } from 'node:url';
import { runAdmin } from './run-admin.js';

const migrationsOfRepository = () => fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));

process.exitCode = await runAdmin(process.argv.slice(2), {
  env: process.env,
  folder: process.cwd(),
  migrationsDir: process.env.MIGRATIONS_DIR || migrationsOfRepository(),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
