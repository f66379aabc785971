/** How many blobs or trees are looked at before others of this process get a turn. */
export const TURN = 256;

/** Long work lets others of this process go on in between. */
export function breath(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}
