export const annotationNames = {
  confirmDeletion: 'confirmation.gardener.cloud/deletion',
  forceDeletion: 'confirmation.gardener.cloud/force-deletion',
  confirmedBy: 'deletion.gardener.cloud/confirmed-by',
  createdBy: 'gardener.cloud/created-by',
  ignore: 'shoot.gardener.cloud/ignore',
  operation: 'gardener.cloud/operation',
  tasks: 'shoot.gardener.cloud/tasks',
} as const;

type Annotations = Readonly<Record<string, string>> | undefined;

/** What Go's `strconv.ParseBool` takes for true. */
export const isTrue = (value: string | undefined): boolean => /^(1|t|T|true|TRUE|True)$/.test(value ?? '');

export const isDeletionConfirmed = (annotations: Annotations): boolean =>
  isTrue(annotations?.[annotationNames.confirmDeletion]);

/** The operations that are asked for, several joined by `;`. */
export const operationsIn = (annotations: Annotations): string[] =>
  (annotations?.[annotationNames.operation] ?? '').split(';').filter((operation) => operation !== '');
