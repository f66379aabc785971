/** Long work lets others of this process go on in between. */
export function breath(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}
