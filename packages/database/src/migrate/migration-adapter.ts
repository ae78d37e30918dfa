import { PrismaPg } from '@prisma/adapter-pg';
import { ColumnTypeEnum, DriverAdapterError } from '@prisma/driver-adapter-utils';
import type pg from 'pg';

type Adapter = Awaited<ReturnType<PrismaPg['connect']>>;

/** Prisma's adapter with two fixes that its schema engine needs. */
export class MigrationAdapter extends PrismaPg {
  override async connect(): Promise<Adapter> {
    const adapter = await super.connect();
    sendScriptsWhole(adapter);
    readSystemChars(adapter);
    return adapter;
  }
}

/**
 * The original splits scripts at every semicolon, even in comments and function bodies. A script sent whole is also
 * atomic: Postgres runs it as one transaction.
 */
function sendScriptsWhole(adapter: Adapter): void {
  adapter.executeScript = async (script) => {
    await adapter.underlyingDriver().query(script).catch(rethrow);
  };
}

function rethrow(error: pg.DatabaseError): never {
  if (error.code === undefined || error.severity === undefined) throw error;
  const { code, severity, message, detail, column, hint } = error;
  throw new DriverAdapterError({ kind: 'postgres', code, severity, message, detail, column, hint });
}

const SYSTEM_CHAR = 18; // the type `"char"` of the system catalogues
const TEXT = 25;

/** The original does not support the type `"char"`, which the engine reads from the catalogue's constraints. */
function readSystemChars(adapter: Adapter): void {
  const charColumns = new WeakMap<unknown[], number[]>();

  const pool = adapter.underlyingDriver();
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<pg.QueryResult | pg.QueryResult[]>;
  pool.query = (async (...args: unknown[]) => {
    const answer = await query(...args);
    if (Array.isArray(answer)) return answer; // a script's
    const { fields, rows, ...rest } = answer;
    charColumns.set(
      rows,
      [...fields.keys()].filter((index) => fields[index]?.dataTypeID === SYSTEM_CHAR),
    );
    const known = fields.map((field) => (field.dataTypeID === SYSTEM_CHAR ? { ...field, dataTypeID: TEXT } : field));
    return { ...rest, rows, fields: known };
  }) as unknown as pg.Pool['query'];

  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (statement) => {
    const result = await queryRaw(statement);
    for (const index of charColumns.get(result.rows) ?? []) result.columnTypes[index] = ColumnTypeEnum.Character;
    return result;
  };
}
