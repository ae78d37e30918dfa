/** Where a page begins in a list that is read newest first: behind the item of this time and id. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Postgres takes no other text for an id. */
export const isId = (text: string): boolean => uuid.test(text);
