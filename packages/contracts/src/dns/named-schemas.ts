import type { NamedSchemas } from '../openapi/schemas.js';
import {
  actionSchema,
  answerRecordSchema,
  type DnsAnswer,
  demoSchema,
  dnsAnswerSchemas,
  metaSchema,
  paginationSchema,
  rrsetSchema,
  tokenSchema,
  zoneSchema,
} from './answers.js';
import { dnsAnswerExamples } from './examples.js';
import {
  addRecordsSchema,
  changeTtlSchema,
  createDemoSchema,
  createRrsetSchema,
  extendDemoSchema,
  recordSchema,
  recordsBodySchema,
  updateRrsetSchema,
} from './requests.js';

/** Answers wrap what they show, so `RrsetAnswer` is the body that contains an `Rrset`. */
const answerNames: Readonly<Record<DnsAnswer, string>> = {
  zoneList: 'ZoneList',
  zone: 'ZoneAnswer',
  rrsetList: 'RrsetList',
  rrset: 'RrsetAnswer',
  created: 'RrsetCreated',
  action: 'ActionAnswer',
  actionList: 'ActionList',
  actionPage: 'ActionPage',
  demo: 'DemoAnswer',
  createdDemo: 'DemoCreated',
  demoList: 'DemoList',
  token: 'TokenAnswer',
  error: 'Error',
};

/** The name of an answer in the OpenAPI document. */
export const dnsAnswerNameOf = (answer: DnsAnswer): string => answerNames[answer];

export const dnsNamedSchemas: NamedSchemas = {
  shared: {},
  answers: {
    Zone: zoneSchema,
    Rrset: rrsetSchema,
    RrsetRecord: answerRecordSchema,
    Action: actionSchema,
    ActionError: { ...actionSchema.properties.error, type: 'object' },
    ActionResource: actionSchema.properties.resources.items,
    Demo: demoSchema,
    Token: tokenSchema,
    RequestLimit: tokenSchema.properties.requests.properties.per_token,
    Meta: metaSchema,
    Pagination: paginationSchema,
    ErrorBody: dnsAnswerSchemas.error.properties.error,
    ...Object.fromEntries(
      Object.entries(dnsAnswerSchemas).map(([answer, schema]) => [dnsAnswerNameOf(answer as DnsAnswer), schema]),
    ),
  },
  requests: {
    RrsetCreate: createRrsetSchema,
    RecordInput: recordSchema,
    RecordsBody: recordsBodySchema,
    RecordsAdd: addRecordsSchema,
    TtlChange: changeTtlSchema,
    RrsetUpdate: updateRrsetSchema,
    DemoCreate: createDemoSchema,
    DemoExtend: extendDemoSchema,
  },
  examples: dnsAnswerExamples,
  nullMeansAbsent: false,
};
