import { findMigrations } from './find-migrations.js';
import { runAdmin } from './run-admin.js';

process.exitCode = await runAdmin(process.argv.slice(2), {
  env: process.env,
  folder: process.cwd(),
  get migrationsDir() {
    return findMigrations(process.env);
  },
  stdout: process.stdout,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
