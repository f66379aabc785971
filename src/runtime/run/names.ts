/** Where a run that is not over keeps its beginning; its branches are kept below. */
export function runName(run: string): string {
  return `run/${run}`;
}

/** Whether a name is the one that an unfinished run keeps its beginning under. */
export function isRunName(name: string): boolean {
  return /^run\/[^/]+$/.test(name);
}

/** Where the answer to a request is kept until the run has taken it in. A what-if may wait for the same request. */
export function answerName(run: string, request: string): string {
  return `answer/${run}/${request}`;
}

/** Where a standing approval is kept: the approval itself as long as it holds, its revocation after that. */
export function standingName(approval: string): string {
  return `${STANDING}${approval}`;
}

export const STANDING = "standing/";

/** The name of a run that was given none. */
export function unnamed(run: string): string {
  return `unnamed/${run}`;
}
