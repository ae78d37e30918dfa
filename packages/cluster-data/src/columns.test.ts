import { expect, it } from '@jest/globals';
import { jsonOf, prismaSelect, selectOf } from './columns.js';

const columns = { teamId: 'team_id', state: 'state::text' };

it('selects columns of a table by the names of the row', () => {
  expect(selectOf('cluster', columns)).toBe('cluster.team_id AS "teamId", cluster.state::text AS "state"');
});

it('makes one JSON object of them, with what else belongs into it', () => {
  expect(jsonOf('pool', columns, { ready: '(SELECT 1)' })).toBe(
    `json_build_object('teamId', pool.team_id, 'state', pool.state::text, 'ready', (SELECT 1))`,
  );
});

it('selects the same by way of Prisma', () => {
  expect(prismaSelect(columns)).toEqual({ teamId: true, state: true });
});
