import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { getAsset, isSea } from 'node:sea';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { prepareSession } from '../connect.js';
import { MigrationAdapter } from './migration-adapter.js';

export type SchemaEngine = bindings.SchemaEngine;

/**
 * Runs `work` with Prisma's schema engine connected to a database.
 *
 * Uses the WebAssembly build of the engine behind `prisma migrate`: the CLI downloads a native engine from a host that
 * closed networks cannot reach, and images would need the CLI.
 */
export async function withSchemaEngine<T>(databaseUrl: string, work: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  await load();
  const pool = new pg.Pool({ connectionString: databaseUrl, onConnect: prepareSession() });
  const adapter = bindMigrationAwareSqlAdapterFactory(new MigrationAdapter(pool));
  try {
    const engine = await bindings.SchemaEngine.new({ datamodels: undefined }, () => undefined, adapter);
    return await work(engine).finally(() => engine.free());
  } finally {
    await pool.end(); // the engine leaves it open
  }
}

let loaded: Promise<void> | undefined;

function load(): Promise<void> {
  loaded ??= instantiate();
  return loaded;
}

async function instantiate(): Promise<void> {
  // The engine reports panics through this global before it traps.
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: {
      set_message(message: string) {
        process.stderr.write(`Prisma's schema engine broke down: ${message}\n`);
      },
    },
  });
  const { instance } = await WebAssembly.instantiate(await readProgram(), {
    './schema_engine_bg.js': importsOf(bindings),
  });
  (bindings as unknown as EngineGlue).__wbg_set_wasm(instance.exports);
  (instance.exports as EngineStart).__wbindgen_start();
}

/** Reads it from its package or, in a program that is a single file, from that. */
async function readProgram(): Promise<Uint8Array> {
  const name = 'schema_engine_bg.wasm';
  if (isSea()) return new Uint8Array(getAsset(name));
  const glue = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  return readFile(join(dirname(glue), name));
}

/** The engine never clears the timer of its lock timeout, which would keep the process alive for ten more seconds. */
function importsOf(glue: object): object {
  const patient = Object.entries(glue).map(([name, run]) => {
    if (!name.startsWith('__wbg_setTimeout_')) return [name, run];
    return [name, (...args: unknown[]) => (run as (...args: unknown[]) => NodeJS.Timeout)(...args).unref()];
  });
  return Object.fromEntries(patient);
}

type EngineGlue = { __wbg_set_wasm(exports: unknown): void };
type EngineStart = { __wbindgen_start(): void };

// Node.js provides it; its types need the DOM library.
declare const WebAssembly: {
  instantiate(program: Uint8Array, imports: object): Promise<{ instance: { exports: object } }>;
};
