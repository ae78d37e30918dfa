import { reservedSlugs } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hashDnsToken, isWellFormedDnsToken, TeamRuleError } from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

let database: AuthDatabase;
beforeAll(async () => {
  database = await openAuthDatabase();
});
afterAll(() => database.close());

describe('a team', () => {
  it('is created once, found by its slug and listed in order of slugs', async () => {
    const { teams } = database;
    const created = await teams.createTeam('zeta');
    await teams.createTeam('alpha');

    expect(await teams.findTeam('zeta')).toEqual(created);
    expect(await teams.findTeam('nobody')).toBeNull();
    const slugs = (await teams.listTeams()).map(({ slug }) => slug);
    expect(slugs.filter((slug) => ['zeta', 'alpha'].includes(slug))).toEqual(['alpha', 'zeta']);
    expect(slugs).toEqual([...slugs].sort());
    await expect(teams.createTeam('zeta')).rejects.toThrow('A team "zeta" already exists.');
  });

  it('is created by one of many concurrent attempts', async () => {
    const tries = Array.from({ length: 8 }, () => database.teams.createTeam('wanted'));

    const ends = await Promise.allSettled(tries);

    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
    for (const end of ends) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(TeamRuleError);
  });

  it.each([
    ['', 'A', 'Acme', '-acme', 'acme-', 'ac me', 'ac.me', '_dmarc', 'ä', 'a'.repeat(64), '@', '*'],
    reservedSlugs,
  ])('cannot have an invalid or reserved slug such as %j', async (...slugs) => {
    for (const slug of slugs) await expect(database.teams.createTeam(slug)).rejects.toThrow(TeamRuleError);
  });
});

describe('the tokens of a team', () => {
  it('are returned as text once and stored as a hash', async () => {
    const team = await database.teams.createTeam('hashed');

    const { token, record } = await database.tokens.issueToken(team, { name: 'ci' });

    expect(isWellFormedDnsToken(token)).toBe(true);
    const row = await database.prisma.dnsToken.findUniqueOrThrow({ where: { id: record.id } });
    expect(Buffer.from(row.hash).equals(hashDnsToken(token))).toBe(true);
    expect(JSON.stringify({ row, record, listed: await database.tokens.listTokens(team) })).not.toContain(token);
  });

  it('never exceed five active ones, even when issued concurrently', async () => {
    const team = await database.teams.createTeam('crowded');
    const tries = Array.from({ length: 20 }, (_, at) => database.tokens.issueToken(team, { name: `t${at}` }));

    const ends = await Promise.allSettled(tries);

    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(5);
    const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    for (const refusal of refusals) expect(refusal).toBeInstanceOf(TeamRuleError);
    expect(String(refusals[0])).toContain('has 5 active tokens');
    expect(await database.tokens.listTokens(team)).toHaveLength(5);
  });

  it('no longer count once revoked or expired', async () => {
    const team = await database.teams.createTeam('renewing');
    const issued = [];
    for (let at = 0; at < 5; at += 1) issued.push(await database.tokens.issueToken(team, { name: `t${at}` }));
    const [revoked, expired] = issued.map(({ record }) => record.id);
    await expect(database.tokens.issueToken(team, { name: 'sixth' })).rejects.toThrow(TeamRuleError);

    await database.tokens.revokeToken(team, revoked as string);
    await database.pool.query(`UPDATE dns_token SET expires_at = now() - interval '1 s' WHERE id = $1`, [expired]);

    await database.tokens.issueToken(team, { name: 'sixth' });
    await database.tokens.issueToken(team, { name: 'seventh' });
    await expect(database.tokens.issueToken(team, { name: 'eighth' })).rejects.toThrow(TeamRuleError);
  });

  it('can be revoked once, and only by their own team', async () => {
    const [owner, stranger] = [await database.teams.createTeam('owner'), await database.teams.createTeam('stranger')];
    const { record } = await database.tokens.issueToken(owner, { name: 'ci' });

    expect(await database.tokens.revokeToken(stranger, record.id)).toBe(false);
    expect(await database.tokens.revokeToken(owner, record.id)).toBe(true);
    expect(await database.tokens.revokeToken(owner, record.id)).toBe(false);
    expect((await database.tokens.listTokens(owner))[0]?.revokedAt).toBeInstanceOf(Date);
  });

  it('have one audit entry each for issue and revocation', async () => {
    const team = await database.teams.createTeam('traced');
    const { token, record } = await database.tokens.issueToken(team, { name: 'ci', withinTypes: ['TXT'] });
    await database.tokens.revokeToken(team, record.id);
    await database.tokens.revokeToken(team, record.id);

    const entries = await database.prisma.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } });

    const target = { targetKind: 'DnsToken', targetId: record.id, targetName: 'ci', userId: null };
    expect(entries).toEqual([
      expect.objectContaining({ action: 'dns_token.create', ...target }),
      expect.objectContaining({ action: 'dns_token.revoke', ...target }),
    ]);
    expect(entries[0]?.detail).toEqual({ scopes: ['dns'], withinName: null, withinTypes: ['TXT'], expiresAt: null });
    expect(JSON.stringify(entries, (_key, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain(
      token,
    );
  });

  it('are neither issued nor revoked when the audit entry fails', async () => {
    const team = await database.teams.createTeam('untraced');
    const { record } = await database.tokens.issueToken(team, { name: 'kept' });
    await database.pool.query(
      `CREATE FUNCTION refuse_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no entry today'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_audit()`,
    );
    try {
      await expect(database.tokens.issueToken(team, { name: 'lost' })).rejects.toThrow();
      await expect(database.tokens.revokeToken(team, record.id)).rejects.toThrow();
    } finally {
      await database.pool.query('DROP TRIGGER refuse ON audit_entry; DROP FUNCTION refuse_audit');
    }

    expect((await database.tokens.listTokens(team)).map(({ name, revokedAt }) => [name, revokedAt])).toEqual([
      ['kept', null],
    ]);
  });

  it.each([
    ['the name of another team', { withinName: 'globex' }],
    ['a name with the same ending', { withinName: 'xnarrow' }],
    ['a name that is not valid', { withinName: 'a b.narrow' }],
    ['a type the API does not write', { withinTypes: ['NS'] }],
    ['a time in the past', { expiresAt: new Date(0) }],
    ['an invalid time', { expiresAt: new Date(Number.NaN) }],
  ])('cannot be narrowed to %s', async (_what, narrowing) => {
    const team = (await database.teams.findTeam('narrow')) ?? (await database.teams.createTeam('narrow'));

    await expect(database.tokens.issueToken(team, { name: 'ci', ...narrowing })).rejects.toThrow(TeamRuleError);
  });
});
