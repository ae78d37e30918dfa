import { connectPool, connectPrisma, type Pool, type Prisma } from '@corral/database';
import { createTestDatabase, patientPool, patientTransactions } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jsonOf } from '../src/columns.js';
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
import { operationValues } from '../src/operations.js';

const some = { teamId: 'team_id', state: 'state::text' };

it('selects columns of a table by the names of the row', () => {
  expect(selectOf('cluster', some)).toBe('cluster.team_id AS "teamId", cluster.state::text AS "state"');
});

it('makes one JSON object of them, with what else belongs into it', () => {
  expect(jsonOf('pool', some, { ready: '(SELECT 1)' })).toBe(
    `json_build_object('teamId', pool.team_id, 'state', pool.state::text, 'ready', (SELECT 1))`,
  );
});

it('selects the same by way of Prisma', () => {
  expect(prismaSelect(some)).toEqual({ teamId: true, state: true });
});

describe('the columns of a verdict', () => {
  it.each([
    [0, 0],
    [41.6, 42],
    [-5, 0],
    [100, 99],
  ])('keep the progress of a running operation below 100: %p becomes %p', (progress, stored) => {
    expect(operationValues({ to: 'running', progress })).toEqual(['running', stored, '{}', false]);
  });

  it('are final for what has succeeded', () => {
    expect(operationValues({ to: 'succeeded' })).toEqual(['succeeded', 100, '{}', true]);
  });

  it('say what to do about a failure', () => {
    const [state, progress, error, isFinal] = operationValues({
      to: 'failed',
      code: 'provider_token_rejected',
      message: 'No.',
    });

    expect([state, progress, isFinal]).toEqual(['failed', 0, true]);
    expect(JSON.parse(error)).toEqual({
      code: 'provider_token_rejected',
      message: 'No.',
      retryable: expect.any(Boolean),
      hint: expect.any(String),
    });
  });
});

describe('in a database', () => {
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
});
