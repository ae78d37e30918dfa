import { canRead, relativeName, type TokenCoverage, writableTypes, writeRefusal } from '@corral/contracts';
import { Group, Select, TextInput } from '@mantine/core';
import { useId, useState } from 'react';
import { Status } from '../ui/status.js';
import styles from './coverage-check.module.css';

/** Types that teams ask about. Those beyond the writable ones can only be read. */
const types = [...writableTypes, 'CAA', 'MX', 'NS', 'SRV'];

/** Answers with the rules of the gateway what the token may do with a record set. */
export function CoverageCheck({ coverage, zone }: { readonly coverage: TokenCoverage; readonly zone: string }) {
  const [typed, setTyped] = useState('');
  const [type, setType] = useState<string>(coverage.withinTypes[0] ?? 'A');
  const id = useId();
  const name = relativeName(typed, zone);
  const rrset = { zoneName: zone, name, type };
  const refusal = writeRefusal(coverage, rrset);
  return (
    <section aria-labelledby={id} className={styles.check}>
      <h3 id={id}>Would this be allowed?</h3>
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <TextInput
          label="Name to try"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          placeholder={`www.${coverage.ownerLabel}`}
          classNames={{ input: 'mono' }}
          spellCheck={false}
          autoComplete="off"
          flex={1}
        />
        <Select
          label="Type"
          data={types}
          value={type}
          onChange={(value) => value !== null && setType(value)}
          w="6rem"
        />
      </Group>
      {typed.trim() === '' ? (
        <p className="muted">Try a name, relative to {zone} or in full.</p>
      ) : (
        <dl aria-live="polite" className={styles.verdicts}>
          <Verdict what="Write" refusal={refusal} />
          <Verdict
            what="Read"
            refusal={canRead(coverage, rrset) ? null : 'To this token, the record set looks absent.'}
          />
        </dl>
      )}
    </section>
  );
}

function Verdict({ what, refusal }: { readonly what: string; readonly refusal: string | null }) {
  return (
    <div>
      <dt className="visually-hidden">{what}</dt>
      <dd>
        <Status tone={refusal === null ? 'good' : 'bad'}>{`${what}: ${refusal === null ? 'yes' : 'no'}`}</Status>{' '}
        {refusal}
      </dd>
    </div>
  );
}
