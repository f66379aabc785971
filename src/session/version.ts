/** Put in by the build and by the tests. */
declare const OPENRATH_VERSION: string;

/** The version of this package; "source" where the sources run without a build. */
export const VERSION: string = typeof OPENRATH_VERSION === "string" ? OPENRATH_VERSION : "source";
