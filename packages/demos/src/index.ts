export { type CourseRecord, type CourseStore, courseStore, isCourseCode } from './course-code.js';
export { type DeleteLeftDeps, type Deletion, deleteLeft } from './delete-left.js';
export { type DemoEnds, demoEnds, type LeftRrset } from './demo-ends.js';
export type { DemoAsking, DemoRecord } from './demo-rows.js';
export {
  type CreateOutcome,
  type DemoMaker,
  type DemoReach,
  type DemoStore,
  type DemoStoreOptions,
  demoStore,
  type NewDemo,
} from './demo-store.js';
export { drawLabel, isLabel, isReservedLabel, labelOf } from './label.js';
