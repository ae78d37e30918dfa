/**
 * Writes `src/generated/`: the types of both OpenAPI documents, a table of their operations, which is all of a document that
 * the client needs at run time, and which role each of them needs.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  clusterOpenApi,
  clusterRoutes,
  dnsDemoRoutes,
  dnsOpenApi,
  dnsRoutes,
  dnsZoneRoutes,
  roleNeededFor,
  roleNeededForDns,
} from '@corral/contracts';
import openapiTypes, { astToString } from 'openapi-typescript';

const folder = fileURLToPath(new URL('src/generated/', import.meta.url));
const SERVER = 'https://corral.example';

await mkdir(folder, { recursive: true });
await write('cluster', clusterOpenApi(SERVER));
await write('dns', dnsOpenApi(SERVER, [...dnsZoneRoutes, ...dnsDemoRoutes]));
await writeTable('rolesNeeded', 'roles-needed.ts', rolesNeeded());

async function write(name, document) {
  const types = await openapiTypes(withoutRefusals(document), {
    silent: true,
    // Members with a default may be left out of a request.
    defaultNonNullable: false,
    emptyObjectsUnknown: true,
  });
  await writeFile(`${folder}${name}-api.ts`, astToString(types));
  await writeTable(`${name}Operations`, `${name}-operations.ts`, operationsOf(document));
}

function writeTable(name, file, rows) {
  return writeFile(`${folder}${file}`, `export const ${name} = ${JSON.stringify(rows, null, 2)} as const;\n`);
}

/** The least role in the team for all of an operation. */
function rolesNeeded() {
  const rows = [
    ...clusterRoutes.map((route) => [route.operationId, roleNeededFor(route)]),
    ...dnsRoutes.map((route) => [route.operationId, roleNeededForDns(route)]),
  ];
  return Object.fromEntries(rows.filter(([, role]) => role !== null));
}

/** What the types need: refusals have one type for all operations, headers and examples none. It takes a quarter of the time. */
function withoutRefusals(document) {
  const copy = structuredClone(document);
  const { schemas, responses: named } = copy.components;
  const inline = operations(copy).flatMap(({ responses }) => Object.values(responses));
  const needed = new Set();
  for (const { responses } of operations(copy)) {
    for (const status of Object.keys(responses)) if (!isSuccess(status)) delete responses[status];
    for (const { $ref } of Object.values(responses)) needed.add($ref);
  }
  for (const name of Object.keys(named)) if (!needed.has(`#/components/responses/${name}`)) delete named[name];
  for (const response of [...inline, ...Object.values(named)]) delete response.headers;
  for (const schema of Object.values(schemas)) delete schema.examples;
  delete copy.components.headers;
  return copy;
}

function isSuccess(status) {
  return Number(status) < 300;
}

function operations({ paths }) {
  return Object.values(paths).flatMap((path) => Object.values(path));
}

/** The operations with method, path, and whether it takes a key, a cursor or a form. Redirects are for browsers and have no row. */
function operationsOf({ paths, components }) {
  const nameOf = ({ name, $ref }) => name ?? components.parameters[$ref.split('/').at(-1)].name;
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { responses }]) => Object.keys(responses).some(isSuccess))
      .map(([method, { operationId, parameters, requestBody }]) => {
        const takes = (parameter) => parameters.some((each) => nameOf(each) === parameter);
        const row = { method: method.toUpperCase(), path };
        if (takes('Idempotency-Key')) row.idempotent = true;
        if (takes('cursor')) row.paged = true;
        if (requestBody !== undefined && !('application/json' in requestBody.content)) row.form = true;
        return [operationId, row];
      }),
  );
  return Object.fromEntries(rows);
}
