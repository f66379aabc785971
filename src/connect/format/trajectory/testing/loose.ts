/** JSON that a test looks into without asking at each step what it is. */
// biome-ignore lint/suspicious/noExplicitAny: a test that is wrong about it fails, which is what it is for
export type Loose = any;
