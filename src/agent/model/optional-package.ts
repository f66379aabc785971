import { MissingPackageError } from "./error.js";

/** Loads a package that users install themselves. When it is missing, the error names it and its use. */
export async function optionalPackage<Module>(
  name: string,
  use: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error) && !isMissing((error as { cause?: unknown } | null)?.cause)) throw error;
    throw new MissingPackageError(name, use, error);
  }
}

function isMissing(error: unknown): boolean {
  return /MODULE_NOT_FOUND$/.test(String((error as { code?: unknown } | undefined)?.code));
}
