/**
 * Milliseconds since 1970 of a time as it stands in a fact; not a number where it is none. A time without a zone is one
 * of UTC: what is exported must not depend on where that is done.
 */
export function millisecondsOf(at: string): number {
  return Date.parse(WITHOUT_ZONE.test(at) ? `${at}Z` : at);
}

const WITHOUT_ZONE = /[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/;
