/** The key under which the text of the zone file page is kept, for one person and team. */
export const zoneFileDraft = (person: number, team: string): string => `zone-file.${person}.${team}`;
