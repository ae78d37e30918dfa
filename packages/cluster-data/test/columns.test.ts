import { connectPool, connectPrisma, type Pool, type Prisma } from '@corral/database';
import { createTestDatabase, patientPool, patientTransactions } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  clusterColumns,
  connectionColumns,
  nodePoolColumns,
  operationColumns,
  prismaSelect,
  selectOf,
  serverColumns,
  teamColumns,
} from '../src/index.js';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: Pool;
let prisma: Prisma;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    ...patientPool,
    onIdleError: () => undefined,
  });
  prisma = connectPrisma(database.url, patientTransactions);
});
afterAll(async () => {
  await pool.end();
  await prisma.$disconnect();
  await database.drop();
});

const groups = {
  cluster: Object.assign({}, ...Object.values(clusterColumns)),
  node_pool: nodePoolColumns,
  connection: Object.assign({}, ...Object.values(connectionColumns)),
  adopted_server: Object.assign({}, ...Object.values(serverColumns)),
  operation: operationColumns,
  team: Object.assign({}, ...Object.values(teamColumns)),
} as Record<string, Record<string, string>>;

it.each(Object.entries(groups))('the columns of %s have the same names for pg', async (table, columns) => {
  const { fields } = await pool.query(`SELECT ${selectOf(table, columns)} FROM ${table}`);

  expect(fields.map(({ name }) => name)).toEqual(Object.keys(columns));
});

it.each([
  ['cluster', 'cluster'],
  ['node_pool', 'nodePool'],
  ['connection', 'connection'],
  ['adopted_server', 'adoptedServer'],
  ['operation', 'operation'],
  ['team', 'team'],
] as const)('the columns of %s have the same names for Prisma', async (table, model) => {
  const select = prismaSelect(groups[table] as Record<string, string>);
  const delegate = prisma[model] as unknown as { findMany(query: { select: object }): Promise<unknown[]> };

  await expect(delegate.findMany({ select })).resolves.toEqual([]);
});
