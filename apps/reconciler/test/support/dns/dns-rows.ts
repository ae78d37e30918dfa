import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { TeamId } from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
import { type NewWrite, parseStoredWrite, type RrsetWriteKind, writeLedger } from '@corral/dns-data';

export interface TestTeam {
  readonly id: TeamId;
  readonly slug: string;
  readonly tokenId: string;
}

export interface TestWrite {
  readonly name: string;
  readonly type?: string;
  readonly operation: RrsetWriteKind;
  readonly body: object | null;
}

/** Rows of the DNS product, as gateways write them. */
export function dnsRows(pool: Pool, prisma: Prisma, zoneId: number) {
  const readEntries = async (where = 'true') =>
    (await pool.query(`SELECT * FROM dns_audit_entry WHERE ${where} ORDER BY id`)).rows;
  return {
    readEntries,
    async addTeam(slug: string): Promise<TestTeam> {
      const team = await pool.query<{ id: string }>('INSERT INTO team (slug) VALUES ($1) RETURNING id', [slug]);
      const id = team.rows[0]?.id as TeamId;
      const token = await pool.query<{ id: string }>(
        `INSERT INTO dns_token (team_id, name, hash, scopes, within_types) VALUES ($1, 'test', $2, '{dns}', '{}')
         RETURNING id`,
        [id, randomBytes(32)],
      );
      return { id, slug, tokenId: token.rows[0]?.id as string };
    },
    /** A write whose holder died or gave up: pending, with an expired lease. */
    async addLostWrite(team: TestTeam, { name, type = 'A', operation, body }: TestWrite) {
      const full = operation === 'create' ? { name, type, ...body } : body;
      const requestBody = full === null ? null : JSON.stringify(full);
      const parsed = parseStoredWrite(operation, requestBody);
      if (parsed === null) throw new Error('The test wants to send a body that no write has.');
      const write: NewWrite = {
        owner: { kind: 'team', id: team.id, teamId: team.id },
        tokenId: team.tokenId,
        key: { zoneId, name, type },
        write: parsed,
        requestBody,
        requestId: null,
        requestHash: createHash('sha256').update(randomUUID()).digest(),
      };
      const begun = await ledgerOf(prisma).begin(write, () => true);
      if (begun.kind !== 'begun') throw new Error(`The write did not begin: ${begun.kind}.`);
      return { entryId: begun.lease.entryId, write };
    },
    async getEntry(entryId: number) {
      const [entry] = await readEntries(`id = ${entryId}`);
      if (entry === undefined) throw new Error(`There is no entry ${entryId}.`);
      return entry;
    },
    /** The mirrored values of a set, or null when it is absent. */
    async mirroredValues(name: string, type = 'A') {
      const { rows } = await pool.query<{ body: string }>('SELECT body FROM dns_rrset WHERE name = $1 AND type = $2', [
        name,
        type,
      ]);
      const body = rows[0]?.body;
      if (body === undefined) return null;
      return (JSON.parse(body) as { records: { value: string }[] }).records.map((record) => record.value);
    },
  };
}

/** A ledger whose leases have already expired when they are granted. */
export const ledgerOf = (prisma: Prisma, leaseMs = -1_000) =>
  writeLedger(prisma, {
    quota: { recordsPerTeam: 200, recordsPerDemo: 20, recordsPerRrset: 50 },
    leaseMs,
    replayMs: 60_000,
  });

export const records = (...values: string[]) => values.map((value) => ({ value }));
