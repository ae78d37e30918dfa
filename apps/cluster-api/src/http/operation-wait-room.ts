import { places } from '@corral/admission';
import type { TeamId } from '@corral/contracts';
import type { OperationWaitLimits } from '../app-config.js';
import { shareOfTeam } from './concurrency-limits.js';

export interface OperationWaitRoom {
  /**
   * @param caller the id of the person or the service account
   * @returns a function that gives the place back; null when the caller, the team or the process has none left
   */
  enter(teamId: TeamId, caller: string): (() => void) | null;
}

export function operationWaitRoom({ perCaller, perTeam, perProcess }: OperationWaitLimits): OperationWaitRoom {
  const ofCaller = places(perCaller);
  const ofTeam = places(Math.min(perTeam, shareOfTeam(perProcess)));
  const ofProcess = places(perProcess);
  return {
    enter(teamId, caller) {
      const taken: (() => void)[] = [];
      const leave = (): void => {
        for (const giveBack of taken) giveBack();
      };
      for (const take of [() => ofCaller.take(caller), () => ofTeam.take(teamId), () => ofProcess.take('')]) {
        const giveBack = take();
        if (giveBack === null) {
          leave();
          return null;
        }
        taken.push(giveBack);
      }
      return leave;
    },
  };
}
