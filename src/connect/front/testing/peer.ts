/** A package that is a peer of the tests, or undefined where it is not installed: then they are skipped with that reason. */
export async function peer<Module>(name: string): Promise<Module | undefined> {
  try {
    return (await import(/* @vite-ignore */ name)) as Module;
  } catch {
    return undefined;
  }
}
