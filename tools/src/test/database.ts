/** `npm run test:database`: serves the databases of failed tests until Ctrl-C. */
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { databaseUrl, keptServers, readKept, startPostgres } from '@corral/testing';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const resultsDir = join(root, 'test-results');

const servers = await keptServers(resultsDir);
const name = process.argv[2] ?? [...servers.keys()].find((each) => each === 'run') ?? [...servers.keys()][0] ?? '';
const dataDir = servers.get(name);
if (dataDir === undefined) {
  console.error(
    servers.size === 0
      ? 'The last `npm test` kept no database: no test with a database failed.'
      : `There is no kept database server "${name}". Available: ${[...servers.keys()].join(', ')}.`,
  );
  process.exitCode = 1;
} else {
  await serve(dataDir);
}

async function serve(dataDir: string): Promise<void> {
  const postgres = await startPostgres({ dataDir });
  const stopped = Promise.race([
    ...['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)),
    postgres.exited,
  ]);
  const databases = name === 'run' ? await readKept(resultsDir) : [];
  for (const { database, file } of databases) {
    console.log(`${databaseUrl(postgres.url, database)}  ${relative(root, file)}`);
  }
  if (databases.length === 0) console.log(postgres.url);
  const others = [...servers.keys()].filter((each) => each !== name);
  if (others.length > 0) console.log(`Others: npm run test:database -- ${others.join('|')}`);
  console.log('Press Ctrl-C to stop it. The next `npm test` or `npm run reset` removes it.');
  const alive = setInterval(() => undefined, 60_000); // the server alone does not keep this process
  await stopped;
  clearInterval(alive);
  await postgres.stop();
}
